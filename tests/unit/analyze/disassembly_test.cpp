// SPDX-License-Identifier: MIT
#include "analyze/disassembly.hpp"

#include <fmt/format.h>

#include <random>

#include "analyze/compiled_code.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::measure;
using namespace wb::variant;

namespace {

/// In the form of cuobjdump: each instruction with its encoding, which goes on in a second line.
constexpr std::string_view k_listing = R"--(
	code for sm_90
	.target	sm_90

		Function : _Z5plainPKfPfi
	.headerflags	@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                /* 0x00000a00ff017b82 */
                                                                         /* 0x000fe20000000800 */
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R8.64] ;   /* 0x0004 */
        /*0020*/                   LDG.E R5, desc[UR4][R8.64+0x100] ;    /* 0x0001000408057981 */
        /*0030*/               @P1 LDG.E.U16 R5, desc[UR4][R8.64] ;      /* 0x0001000408057981 */
        /*0040*/                   LDS.64 R6, [R7+0x80] ;                /* 0x0000000408047981 */
        /*0050*/                   STS [R7], R2 ;                        /* 0x0000000408047981 */
        /*0060*/                   STG.E.64 desc[UR4][R2.64], R4 ;       /* 0x0000000408047981 */
        /*0070*/                   LDL R3, [R1+0x10] ;                   /* 0x0000000408047981 */
        /*0080*/                   STL.128 [R1], R4 ;                    /* 0x0000000408047981 */
        /*0090*/                   FFMA R3, R4, R5, R6 ;                 /* 0x0000000408047981 */
        /*00a0*/                   EXIT ;                                /* 0x0000000408047981 */
		..........

		Function : _Z2mmPK6__halfS1_Pf
        /*0000*/                   LDSM.16.M88.4 R4, [R7] ;              /* 0x0000000408047981 */
        /*0010*/                   HGMMA.64x128x16.F32 R24, gdesc[UR4], R24 ;  /* 0x0000 */
        /*0020*/                   HMMA.16816.F32 R4, R4, R6, RZ ;       /* 0x0000000408047981 */
        /*0030*/                   UTMALDG.4D [UR8], [UR4] ;             /* 0x0000000408047981 */
        /*0040*/                   LDGSTS.E.BYPASS.128 [R7], desc[UR4][R8.64] ;  /* 0x0000 */
        /*0050*/                   ATOMG.E.ADD.STRONG.GPU PT, R4, desc[UR4][R2.64], R5 ; /* 0x */
)--";

}  // namespace

TEST_CASE("Widths, products and local memory are counted from the code", "[analyze][sass]") {
  const auto kernels = read_sass(k_listing);
  REQUIRE(kernels.ok());
  REQUIRE(kernels->size() == 2);
  const SassKernel& plain = (*kernels)[0];
  CHECK(plain.kernel == "plain");
  CHECK(plain.architecture == "sm_90");
  CHECK(plain.instructions == 11);
  CHECK(plain.global_loads == std::map<int, std::int64_t>{{128, 1}, {32, 1}, {16, 1}});
  CHECK(plain.global_stores == std::map<int, std::int64_t>{{64, 1}});
  CHECK(plain.shared_loads == std::map<int, std::int64_t>{{64, 1}});
  CHECK(plain.shared_stores == std::map<int, std::int64_t>{{32, 1}});
  CHECK(plain.local_loads == 1);
  CHECK(plain.local_stores == 1);
  CHECK(plain.fma == 1);
  CHECK(plain.matrix == 0);
  const SassKernel& product = (*kernels)[1];
  CHECK(product.matrix_loads == 1);
  CHECK(product.warpgroup_matrix == 1);
  CHECK(product.matrix == 1);
  CHECK(product.bulk_copies == 1);
  CHECK(product.async_copies == 1);
  CHECK(product.atomics == 1);
  CHECK(product.global_loads.empty());
}

TEST_CASE("Each of the largest kernels is one finding", "[analyze][sass]") {
  const auto findings = sass_findings(*read_sass(k_listing));
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].statement.find("no matrix instructions, 1 FMA; global loads 1 of 128 bits, 1 "
                                   "of 32, 1 of 16; local memory: 1 loads, 1 stores") !=
        std::string::npos);
  CHECK(findings[0].figures.at("widest_load_frac").get<double>() == Approx(1.0 / 3));
  CHECK(findings[0].unseen.find("bank conflicts of 2 accesses") != std::string::npos);
  CHECK(findings[1].statement.find("1 matrix instructions of a warpgroup") != std::string::npos);
  std::vector<SassKernel> many(9, (*read_sass(k_listing))[0]);
  const auto few = sass_findings(many);
  CHECK(few.size() == 6);
  CHECK(few.back().unseen.find("3 smaller kernels") != std::string::npos);
}

TEST_CASE("What is no disassembly is named", "[analyze][sass]") {
  for (const char* text : {"", "hello", "Function : _Z1kv\n", "/*0000*/ EXIT ;\n"}) {
    const auto kernels = read_sass(text);
    REQUIRE_FALSE(kernels.ok());
    CHECK(kernels.error().message().find("no function with machine code") != std::string::npos);
  }
}

namespace {

/// A kernel of these instructions, one each 16 bytes.
SassKernel kernel_of(const std::vector<std::string>& code) {
  std::string text = "Function : _Z1kv\n";
  for (std::size_t i = 0; i < code.size(); ++i) {
    text += fmt::format("  /*{:04x}*/  {} ;  /* 0x0 */\n", 16 * i, code[i]);
  }
  const auto kernels = read_sass(text);
  REQUIRE(kernels.ok());
  return kernels->front();
}

using Ways = std::map<int, std::int64_t>;

}  // namespace

TEST_CASE("Addresses that follow from the thread's index tell bank conflicts", "[analyze][sass]") {
  // As nvcc 13 compiles s[tid * 32], s[tid * 33], float4 s[tid] and s[tid * 2].
  const auto strided = [](const char* stride, const char* access) {
    return kernel_of({"S2R R11, SR_TID.X", "S2R R5, SR_CgaCtaId", "MOV R0, 0x400",
                      "LEA R0, R5, R0, 0x18", fmt::format("IMAD R7, R11, {}, R0", stride), access,
                      "EXIT"});
  };
  CHECK(strided("0x80", "STS [R7], R2").shared_ways == Ways{{32, 1}});
  CHECK(strided("0x84", "STS [R7+0x4], R2").shared_ways == Ways{{1, 1}});
  CHECK(strided("0x10", "LDS.128 R12, [R7]").shared_ways == Ways{{1, 1}});
  CHECK(strided("0x8", "LDS R9, [R7]").shared_ways == Ways{{2, 1}});
  CHECK(strided("0x100", "LDS.128 R12, [R7]").shared_ways == Ways{{8, 1}});
  CHECK(strided("0x0", "LDS R9, [R7]").shared_ways == Ways{{1, 1}});  // all read one word
  // A swizzle: (tid & 7) ^ (tid >> 3) is not followed, and not guessed.
  const SassKernel swizzled = kernel_of(
      {"S2R R0, SR_TID.X", "LOP3.LUT R2, R0, 0x7, RZ, 0xc0, !PT", "SHF.R.U32.HI R3, RZ, 0x3, R0",
       "LOP3.LUT R4, R2, R3, RZ, 0x3c, !PT", "LEA R4, R4, UR4, 0x2", "LDS R5, [R4]", "EXIT"});
  CHECK(swizzled.shared_ways.empty());
  CHECK(swizzled.shared_unknown == 1);
}

TEST_CASE("Rows and columns of a warp are followed through masks and shifts", "[analyze][sass]") {
  // s[tid % 8][tid / 8] of rows of 128 bytes.
  const SassKernel kernel =
      kernel_of({"S2R R0, SR_TID.X", "LOP3.LUT R4, R0, 0x7, RZ, 0xc0, !PT",
                 "SHF.R.U32.HI R2, RZ, 0x3, R0", "LOP3.LUT R2, R2, 0x3, RZ, 0xc0, !PT",
                 "LEA R3, R4, UR4, 0x7", "LEA R3, R2, R3, 0x2", "STS [R3], R9", "EXIT"});
  CHECK(kernel.shared_ways == Ways{{8, 1}});
}

TEST_CASE("Loops keep what they do not change, and lose what differs", "[analyze][sass]") {
  const auto loop = [](const char* change) {
    return kernel_of({"S2R R0, SR_TID.X", "LEA R2, R0, UR4, 0x3", "LDS R5, [R2]", change,
                      "ISETP.NE.AND P0, PT, R9, RZ, PT", "@P0 BRA 0x20", "EXIT"});
  };
  CHECK(loop("IADD3 R2, R2, 0x80, RZ").shared_ways == Ways{{2, 1}});  // every lane alike
  CHECK(loop("LEA R2, R0, R2, 0x2").shared_unknown == 1);             // another stride each time
  CHECK(loop("LDG.E.64 R2, desc[UR4][R6.64]").shared_unknown == 1);   // from memory
  CHECK(loop("@P1 IADD3 R2, R2, R0, RZ").shared_unknown == 1);        // for some of the lanes
  CHECK(loop("HGMMA.64x64x16.F32 R1, gdesc[UR4], R1").shared_unknown == 1);  // many registers
}

TEST_CASE("What cannot be followed makes every access unknown", "[analyze][sass]") {
  const std::vector<std::string> plain{"S2R R0, SR_TID.X", "LEA R2, R0, UR4, 0x2", "LDS R5, [R2]"};
  const auto with = [&](const char* line) {
    std::vector<std::string> code = plain;
    code.insert(code.begin(), line);
    return kernel_of(code);
  };
  CHECK(kernel_of(plain).shared_ways == Ways{{1, 1}});
  CHECK(with("S2R R3, SR_TID.Y").shared_unknown == 1);  // lanes may lie in two rows
  CHECK(with("BRX R4 -0x10").shared_unknown == 1);
  CHECK(with("BRA `(.L_x_1)").shared_unknown == 1);
  CHECK(with("EXIT").shared_unknown == 1);  // what follows is never reached
}

TEST_CASE("Barriers are counted in the loop that does the products", "[analyze][sass]") {
  // Two loops, one in the other: the inner walks the tiles, the outer the work of a block.
  const std::vector<std::string> code{"S2R R0, SR_TID.X",             // 0x00
                                      "BAR.SYNC.DEFER_BLOCKING 0x0",  // 0x10, the outer loop begins
                                      "LDGSTS.E.BYPASS.128 [R7], [R8.64]",  // 0x20
                                      "LDGDEPBAR",                          // 0x30
                                      "DEPBAR.LE SB0, 0x1",           // 0x40, the inner loop begins
                                      "BAR.SYNC.DEFER_BLOCKING 0x0",  // 0x50
                                      "HMMA.16816.F32 R4, R4, R6, R4",  // 0x60
                                      "HMMA.16816.F32 R4, R4, R6, R4",  // 0x70
                                      "FFMA R3, R4, R5, R6",            // 0x80
                                      "@P0 BRA 0x40",                   // 0x90
                                      "BAR.SYNC.DEFER_BLOCKING 0x0",    // 0xa0
                                      "@P1 BRA 0x10",                   // 0xb0
                                      "EXIT",                           // 0xc0
                                      "BRA 0xd0"};  // 0xd0, the trap behind the code
  const SassSync sync = kernel_of(code).sync;
  CHECK(sync.barriers == 3);
  CHECK(sync.products == 2);  // matrix instructions, so the FMA of the softmax is none
  REQUIRE(sync.loop);
  CHECK(sync.loop->instructions == 6);
  CHECK(sync.loop->barriers == 1);
  CHECK(sync.loop->copies_in_flight == 1);
  CHECK(barrier_verdict(sync) == "few");
  const Finding finding = sass_findings({kernel_of(code)}).front();
  CHECK(finding.statement.find("1 of 3 barriers in the loop of products (6 instructions)") !=
        std::string::npos);
  CHECK(finding.statement.find("leaves 1 group of async copies in flight") != std::string::npos);
  CHECK(finding.figures.at("loop_barriers") == 1);

  std::vector<std::string> waits = code;
  waits[4] = "DEPBAR.LE SB0, 0x0";
  waits[8] = waits[2] = "BAR.SYNC.DEFER_BLOCKING 0x0";
  CHECK(kernel_of(waits).sync.loop->barriers == 2);
  waits.insert(waits.begin() + 5, 3, "BAR.SYNC.DEFER_BLOCKING 0x0");
  const SassKernel many = kernel_of(waits);
  CHECK(many.sync.loop->barriers == 5);
  CHECK(barrier_verdict(many.sync) == "many");
  CHECK(sass_findings({many}).front().statement.find(
            "5 of 8 barriers in the loop of products (9 instructions), more than the 4 that") !=
        std::string::npos);
  CHECK(sass_findings({many}).front().statement.find("waits for all of its async copies") !=
        std::string::npos);
}

TEST_CASE("A loop of products inside the one that waits is not taken for it", "[analyze][sass]") {
  // The products of a tile in a loop of their own, the barriers around it.
  const SassSync sync =
      kernel_of({"BAR.SYNC.DEFER_BLOCKING 0x0", "FFMA R3, R4, R5, R3", "@P0 BRA 0x10",
                 "BAR.SYNC.DEFER_BLOCKING 0x0", "@P1 BRA 0x0", "EXIT"})
          .sync;
  REQUIRE(sync.loop);
  CHECK(sync.loop->instructions == 5);
  CHECK(sync.loop->barriers == 2);
  CHECK(barrier_verdict(sync) == "few");
}

TEST_CASE("What hides loops leaves their barriers unknown", "[analyze][sass]") {
  const auto verdict = [](std::vector<std::string> code) {
    return barrier_verdict(kernel_of(code).sync);
  };
  CHECK(verdict({"BAR.SYNC 0x0", "FFMA R3, R4, R5, R3", "BRX R4 -0x10", "EXIT"}) == "unknown");
  CHECK(verdict({"BAR.SYNC 0x0", "FFMA R3, R4, R5, R3", "@P0 BRA `(.L_x_1)"}) == "unknown");
  CHECK(verdict({"BAR.SYNC 0x0", "FFMA R3, R4, R5, R3", "EXIT"}) == "unknown");  // no loop
  CHECK(verdict({"FFMA R3, R4, R5, R3", "BRX R4 -0x10"}) == "none");
  CHECK(verdict({"BAR.SYNC 0x0", "FFMA R3, R4, R5, R3", "@P0 BRA 0x10", "EXIT"}) == "none");
}

TEST_CASE("Noise in a disassembly never ends the reading", "[analyze][sass]") {
  std::mt19937 random(3);
  for (int i = 0; i < 1'000; ++i) {
    std::string noise(k_listing);
    for (int k = 0; k < 20; ++k) noise[random() % noise.size()] = static_cast<char>(random());
    if (const auto kernels = read_sass(noise); kernels.ok()) (void)sass_findings(*kernels);
  }
  CHECK_FALSE(read_sass("Function : k\n/*/\n/* */\n").ok());
}

TEST_CASE("a clean record has no findings", "[analyze][ptxas]") {
  PtxasRecord record;
  CHECK(build_findings(record, "k@1").empty());
  record.kernels = {{.kernel = "flash", .registers = 255, .stack_bytes = 8}};
  CHECK(build_findings(record, "k@1").empty());
}

TEST_CASE("spills are one finding, which names the worst kernel", "[analyze][ptxas]") {
  PtxasRecord record;
  record.kernels = {
      {.kernel = "good", .registers = 100},
      {.kernel = "bad", .registers = 168, .spill_store_bytes = 4, .spill_load_bytes = 8},
      {.kernel = "worse", .registers = 255, .spill_store_bytes = 40, .spill_load_bytes = 56}};
  const auto findings = build_findings(record, "k@1");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].analysis == "ptxas");
  CHECK(findings[0].statement ==
        "2 of 3 kernels of k@1 spill registers: worse stores 40 and loads 56 bytes a thread at 255 "
        "registers");
  CHECK(findings[0].figures["spilling_kernels"] == 2);
  CHECK(findings[0].figures["spill_load_bytes"] == 56);
  CHECK(findings[0].problem.empty());
  CHECK_FALSE(findings[0].unseen.empty());
}

TEST_CASE("every warning code is one finding", "[analyze][ptxas]") {
  PtxasRecord record;
  record.warnings = {{"C7519", "warpgroup.arrive is injected", "a", 7},
                     {"C7510", "wgmma instructions are serialized", "", 1},
                     {"C7519", "warpgroup.arrive is injected", "b", 1}};
  const auto findings = build_findings(record, "k@1");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].statement == "ptxas C7510 for k@1: wgmma instructions are serialized");
  CHECK(findings[1].statement == "ptxas C7519 for a and 1 more: warpgroup.arrive is injected");
  CHECK(findings[1].figures["warnings"] == 2);
}

TEST_CASE("findings count what a bounded record left out", "[analyze][ptxas]") {
  PtxasRecord record;
  record.kernels = {{.kernel = "a", .registers = 168, .spill_load_bytes = 8}, {.kernel = "b"}};
  record.kernels_left_out = 98;
  record.spilling_left_out = 30;
  record.warnings = {{"C7510", "serialized", "a", 1}};
  record.warnings_left_out = 4;
  record.codes_left_out = {{"C7510", 4}};
  const auto findings = build_findings(record, "k@1");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].statement.starts_with("31 of 100 kernels of k@1 spill registers: a stores 0"));
  CHECK(findings[0].figures["kernels"] == 100);
  CHECK(findings[0].figures["spilling_kernels"] == 31);
  CHECK(findings[1].statement == "ptxas C7510 for a and 4 more: serialized");
  CHECK(findings[1].figures["warnings"] == 5);
}
