// SPDX-License-Identifier: MIT
// The logs in tests/data/ptxas_13.0.txt are what nvcc 13.0.88 printed for sm_90a.
#include "variant/ptxas_record.hpp"
#include "core/json.hpp"

#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::variant;

namespace {

/// Of the log behind the line "==== NAME".
PtxasRecord record_of(const std::string& name) {
  const fs::path file = source_dir() / "tests/data/ptxas_13.0.txt";
  const auto text = RealFileSystem().read(file, 1u << 20);
  REQUIRE(text.ok());
  const std::string mark = "==== " + name + "\n";
  const std::size_t begin = text->find(mark);
  REQUIRE(begin != std::string::npos);
  const std::string log = text->substr(begin + mark.size());
  return parse_ptxas(log.substr(0, log.find("==== ")));
}

}  // namespace

TEST_CASE("registers, spills, stack and shared memory are read", "[variant][ptxas]") {
  const PtxasRecord record = record_of("spill");
  REQUIRE(record.kernels.size() == 2);
  CHECK(record.kernels[0] == KernelResources{.kernel = "spills<96>",
                                             .registers = 64,
                                             .stack_bytes = 256,
                                             .spill_store_bytes = 300,
                                             .spill_load_bytes = 300,
                                             .barriers = 1});
  // What follows about the function that it calls is not its own.
  CHECK(record.kernels[1] == KernelResources{.kernel = "calls",
                                             .registers = 32,
                                             .stack_bytes = 160,
                                             .shared_bytes = 1024,
                                             .barriers = 1});
  CHECK(record.warnings.empty());
}

TEST_CASE("an older ptxas says its constant memory", "[variant][ptxas]") {
  const PtxasRecord record = parse_ptxas(
      "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_80'\n"
      "ptxas info    : Function properties for _Z1kPf\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 40 registers, 2 barriers, 48 bytes smem, 360 bytes cmem[0], 16 bytes "
      "cmem[2]\n");
  REQUIRE(record.kernels.size() == 1);
  CHECK(record.kernels[0] == KernelResources{"k", 40, 8, 4, 12, 48, 376, 2});
}

TEST_CASE("warnings of lost performance are kept with their kernel", "[variant][ptxas]") {
  const PtxasRecord record = record_of("wgmma");
  CHECK(record.kernels.size() == 2);
  REQUIRE(record.warnings.size() == 4);
  CHECK(record.warnings[0] ==
        PtxasWarning{"C7519",
                     "warpgroup.arrive is injected by compiler to allow use of registers in GMMA",
                     "calls_between<7>", 7});
  CHECK(record.warnings[1].kernel == "touches");
  CHECK(record.warnings[2].code == "C7517");
  CHECK(record.warnings[3] ==
        PtxasWarning{"C7511",
                     "Potential Performance Loss: wgmma.mma_async instructions are serialized due "
                     "to insufficient register resources for the wgmma pipeline",
                     "touches", 1});
}

TEST_CASE("a record survives its JSON", "[variant][ptxas]") {
  for (const char* name : {"spill", "wgmma", "shared"}) {
    const PtxasRecord record = record_of(name);
    const auto again = ptxas_record_from_json(to_json(record));
    REQUIRE(again.ok());
    CHECK(*again == record);
  }
  CHECK_FALSE(ptxas_record_from_json(Json::array()).ok());
  CHECK_FALSE(ptxas_record_from_json({{"kernels", 3}, {"warnings", Json::array()}}).ok());
  const Json negative = {{"kernels", {{{"kernel", "k"}, {"registers", -1}}}},
                         {"warnings", Json::array()}};
  CHECK_FALSE(ptxas_record_from_json(negative).ok());
}

TEST_CASE("a flood of kernels is bounded", "[variant][ptxas][hostile]") {
  std::string log;
  for (int i = 0; i < 500; ++i) {
    const std::string symbol = "kernel_" + std::string(5'000, 'x') + std::to_string(i);
    log += "ptxas info    : Compiling entry function '" + symbol + "' for 'sm_90a'\n";
    log += "ptxas info    : Used 99999999999999999999 registers, 3 barriers\n";
    log += "ptxas info    : (C7510) Potential Performance Loss in function '" + symbol + "'\n";
  }
  const PtxasRecord record = parse_ptxas(log);
  CHECK(record.kernels.size() == 64);
  CHECK(record.kernels_left_out == 436);
  CHECK(record.kernels[0].registers == 0);
  CHECK(record.warnings.size() == 16);
  CHECK(record.warnings_left_out == 484);
  CHECK(to_json(record).dump().size() < 32u << 10);  // it must fit into a line of the log
}

TEST_CASE("what a flood leaves out is counted, and the worst of it kept",
          "[variant][ptxas][hostile]") {
  std::string log;
  for (int i = 0; i < 100; ++i) {
    const std::string symbol = "kernel_" + std::to_string(i);
    const int spilled = i < 70 ? i % 2 : i == 80 ? 400 : 2;  // 35 of 70, then all
    log += "ptxas info    : Compiling entry function '" + symbol + "' for 'sm_90a'\n";
    log += "    0 bytes stack frame, " + std::to_string(spilled) + " bytes spill stores, 0 bytes " +
           "spill loads\n";
    log += "ptxas info    : Used 40 registers\n";
    log += "ptxas info    : (C7510) serialized in function '" + symbol + "'\n";
    log += "ptxas info    : (C7510) serialized in function '" + symbol + "'\n";
  }
  log += "ptxas info    : (C7519) injected in function 'kernel_99'\n";
  log += "ptxas info    : (C7519) injected in function 'kernel_98'\n";
  const PtxasRecord record = parse_ptxas(log);
  REQUIRE(record.kernels.size() == 65);
  CHECK(record.kernels.back().kernel == "kernel_80");
  CHECK(record.kernels.back().spill_store_bytes == 400);
  CHECK(record.kernels.back().registers == 40);
  CHECK(record.kernels_left_out == 35);
  CHECK(record.spilling_left_out == 32);
  REQUIRE(record.warnings.size() == 17);
  CHECK(record.warnings[0].count == 2);
  CHECK(record.warnings.back().code == "C7519");
  CHECK(record.warnings_left_out == 85);
  CHECK(record.codes_left_out == std::map<std::string, std::int64_t>{{"C7510", 84}, {"C7519", 1}});
  const auto again = ptxas_record_from_json(to_json(record));
  REQUIRE(again.ok());
  CHECK(*again == record);
  Json odd = to_json(record);
  odd["codes_left_out"] = {{"C7510", "many"}};
  CHECK_FALSE(ptxas_record_from_json(odd).ok());
  odd.erase("codes_left_out");  // an older record
  CHECK(ptxas_record_from_json(odd).ok());
}

TEST_CASE("a flood of warning codes is bounded", "[variant][ptxas][hostile]") {
  std::string log;
  for (int i = 0; i < 5'000; ++i) {
    log += "ptxas info    : (C75" + std::to_string(i) + ") " + std::string(900, 'x') + "\n";
  }
  const PtxasRecord record = parse_ptxas(log);
  CHECK(record.warnings.size() == 32);
  CHECK(record.warnings_left_out == 4'968);
  CHECK(record.codes_left_out.empty());
  CHECK(to_json(record).dump().size() < 32u << 10);
}

TEST_CASE("a text is cut between characters", "[variant][ptxas]") {
  CHECK(cut_in_the_middle("abcdefghij", 10) == "abcdefghij");
  CHECK(cut_in_the_middle("abcdefghijk", 9) == "abc...ijk");
  const std::string euros = "\u20ac\u20ac\u20ac\u20ac\u20ac";  // three bytes each
  for (std::size_t most = 4; most < euros.size(); ++most) {
    const std::string cut = cut_in_the_middle(euros, most, "-");
    INFO(most << " " << cut);
    CHECK(cut.size() <= most);
    CHECK_NOTHROW(Json(cut).dump());
  }
  const std::string none(40, '\xa4');  // no character of UTF-8 begins anywhere
  CHECK(cut_in_the_middle(none, 20).size() > 10);
}

TEST_CASE("lines that only look like ptxas' are skipped", "[variant][ptxas][hostile]") {
  CHECK(parse_ptxas("").empty());
  CHECK(parse_ptxas("ptxas").empty());
  CHECK(parse_ptxas("ptxas info    : Compiling entry function 'x").empty());
  CHECK(parse_ptxas("ptxas info    : (C75").empty());
  CHECK(parse_ptxas("kernel.cu(3): warning: (C7510) ptxas\n    8 bytes stack frame\n").empty());
  CHECK(parse_ptxas("ptxas info    : Used 8 registers\n").empty());
}

TEST_CASE("kernel names are readable", "[variant][ptxas]") {
  CHECK(kernel_name("_Z3runPf") == "run");
  CHECK(kernel_name("plain_c") == "plain_c");
  CHECK(kernel_name("_ZN40_GLOBAL__N__d3087e1f_8_spill_cu_2f1254c86spillsILi96EEEvPfPKf") ==
        "spills<96>");
  CHECK(kernel_name("_ZN2wb3gpu5flashINS0_5ShapeIfLi64ELb1EEEEEvPfi") ==
        "flash<Shape<float, 64, true>>");
}

TEST_CASE("a name that would grow without bound stays as it is", "[variant][ptxas][hostile]") {
  std::string type = "1PIiiE";  // P<int, int>, then P<P<...>, P<...>> again and again
  for (int level = 0; level < 60; ++level) {
    const std::string reference =
        level == 0 ? "S0_" : "S" + std::string(1, static_cast<char>('0' + level % 10)) + "_";
    type = "1PI" + type + reference + "E";
  }
  const std::string symbol = "_Z1f" + type;
  const std::string name = kernel_name(symbol);
  CHECK(name.size() <= 120);
  CHECK(name.starts_with("_Z1f1PI"));
}
