// SPDX-License-Identifier: MIT
// The kernel ABI: version 1's layout stands still, version 2 is appended behind it, and kernels
// serve callers of both.
#include "sdpa_abi.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "kernel_conformance.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;
using namespace wb::test;

namespace {

// Compiled artifacts hold these numbers, so they never change. The order and size of version 1's
// fields follow from the offsets.
static_assert(sizeof(void*) == 8, "the numbers below are of 64-bit platforms");
static_assert(sizeof(wb_strides) == 24);
static_assert(offsetof(wb_sdpa_problem, struct_size) == 0);
static_assert(offsetof(wb_sdpa_problem, abi_version) == 8);
static_assert(offsetof(wb_sdpa_problem, dtype) == 12);
static_assert(offsetof(wb_sdpa_problem, causal) == 16);
static_assert(offsetof(wb_sdpa_problem, mask) == 20);
static_assert(offsetof(wb_sdpa_problem, batch) == 24);
static_assert(offsetof(wb_sdpa_problem, heads_q) == 32);
static_assert(offsetof(wb_sdpa_problem, heads_kv) == 40);
static_assert(offsetof(wb_sdpa_problem, seq_q) == 48);
static_assert(offsetof(wb_sdpa_problem, seq_kv) == 56);
static_assert(offsetof(wb_sdpa_problem, dim) == 64);
static_assert(offsetof(wb_sdpa_problem, dim_v) == 72);
static_assert(offsetof(wb_sdpa_problem, q) == 80);
static_assert(offsetof(wb_sdpa_problem, k) == 104);
static_assert(offsetof(wb_sdpa_problem, v) == 128);
static_assert(offsetof(wb_sdpa_problem, out) == 152);
static_assert(offsetof(wb_sdpa_problem, mask_strides) == 176);
static_assert(offsetof(wb_sdpa_problem, scale) == 200);
static_assert(offsetof(wb_sdpa_problem, want_lse) == 208);
static_assert(offsetof(wb_sdpa_problem, device) == 212);
static_assert(offsetof(wb_sdpa_problem, window_left) == 216);
static_assert(offsetof(wb_sdpa_problem, window_right) == 224);
static_assert(offsetof(wb_sdpa_problem, softcap) == 232);
static_assert(offsetof(wb_sdpa_problem, cu_seqlens_q) == 240);
static_assert(offsetof(wb_sdpa_problem, cu_seqlens_kv) == 248);
static_assert(offsetof(wb_sdpa_problem, page_table) == 256);
static_assert(offsetof(wb_sdpa_problem, page_size) == 264);
static_assert(WB_SDPA_PROBLEM_V1_BYTES == 272);

static_assert(offsetof(wb_sdpa_args, struct_size) == 0);
static_assert(offsetof(wb_sdpa_args, q) == 8);
static_assert(offsetof(wb_sdpa_args, k) == 16);
static_assert(offsetof(wb_sdpa_args, v) == 24);
static_assert(offsetof(wb_sdpa_args, mask) == 32);
static_assert(offsetof(wb_sdpa_args, out) == 40);
static_assert(offsetof(wb_sdpa_args, lse) == 48);
static_assert(offsetof(wb_sdpa_args, workspace) == 56);
static_assert(offsetof(wb_sdpa_args, stream) == 64);
static_assert(offsetof(wb_sdpa_args, threads) == 72);
static_assert(WB_SDPA_ARGS_V1_BYTES == 80);

static_assert(WB_F32 == 0 && WB_F16 == 1 && WB_BF16 == 2);
static_assert(WB_CAUSAL_NONE == 0 && WB_CAUSAL_TOP_LEFT == 1 && WB_CAUSAL_BOTTOM_RIGHT == 2);
static_assert(WB_MASK_NONE == 0 && WB_MASK_BOOL == 1 && WB_MASK_ADDITIVE == 2);
static_assert(WB_OK == 0 && WB_UNSUPPORTED == 1 && WB_FAILED == 2);

// Version 2, frozen as well.
static_assert(WB_E4M3 == 3 && WB_FORWARD == 0 && WB_BACKWARD == 1);
static_assert(offsetof(wb_sdpa_problem, pass) == 272);
static_assert(offsetof(wb_sdpa_problem, dtype_out) == 276);
static_assert(offsetof(wb_sdpa_problem, kv_shared) == 280);
static_assert(offsetof(wb_sdpa_problem, has_window) == 284);
static_assert(offsetof(wb_sdpa_problem, total_q) == 288);
static_assert(offsetof(wb_sdpa_problem, total_kv) == 296);
static_assert(offsetof(wb_sdpa_problem, total_pages) == 304);
static_assert(offsetof(wb_sdpa_problem, page_table_stride) == 312);
static_assert(offsetof(wb_sdpa_problem, dout) == 320);
static_assert(offsetof(wb_sdpa_problem, dq) == 344);
static_assert(offsetof(wb_sdpa_problem, dk) == 368);
static_assert(offsetof(wb_sdpa_problem, dv) == 392);
static_assert(offsetof(wb_sdpa_problem, kv_lens) == 416);
static_assert(sizeof(wb_sdpa_problem) == 424);
static_assert(offsetof(wb_sdpa_args, sink) == 80);
static_assert(offsetof(wb_sdpa_args, descale_q) == 88);
static_assert(offsetof(wb_sdpa_args, descale_k) == 96);
static_assert(offsetof(wb_sdpa_args, descale_v) == 104);
static_assert(sizeof(wb_sdpa_args) == 112);
static_assert(std::is_same_v<decltype(&wb_sdpa_backward),
                             int (*)(wb_sdpa_plan*, const wb_sdpa_backward_args*)>);

/// A struct as a caller of version 1 has it: so many bytes and no more, so that AddressSanitizer
/// sees who reads beyond them.
template <typename Struct>
class OfVersion1 {
 public:
  // Not inline: a compiler that knows the size warns of a struct that is cut short.
  [[gnu::noinline]] OfVersion1(const Struct& whole, std::size_t size_bytes)
      : m_memory(std::make_unique<std::byte[]>(size_bytes)) {
    std::memcpy(m_memory.get(), &whole, size_bytes);
    std::memcpy(m_memory.get(), &size_bytes, sizeof size_bytes);  // struct_size is the first field
  }
  [[nodiscard]] const Struct* get() const {
    return reinterpret_cast<const Struct*>(m_memory.get());
  }

 private:
  std::unique_ptr<std::byte[]> m_memory;
};

OfVersion1<wb_sdpa_problem> of_version_1(const wb_sdpa_problem& problem) {
  return {problem, WB_SDPA_PROBLEM_V1_BYTES};
}

Problem abi_test_problem() {
  Problem problem;
  problem.Hq = problem.Hkv = 2;
  problem.Sq = 5;
  problem.Skv = 9;
  problem.D = problem.Dv = 8;
  return problem;
}

const std::int32_t k_lengths[] = {0, 1};

/// Everything that version 2 can say beyond a dense forward, one at a time.
struct Beyond {
  const char* word;  ///< of the reason
  void (*ask)(wb_sdpa_problem&);
};
const Beyond k_beyond[] = {
    {"version", [](wb_sdpa_problem& p) { p.abi_version = 3; }},
    {"version", [](wb_sdpa_problem& p) { p.abi_version = 0; }},
    {"backward", [](wb_sdpa_problem& p) { p.pass = WB_BACKWARD; }},
    {"window", [](wb_sdpa_problem& p) { p.has_window = 1; }},
    {"window", [](wb_sdpa_problem& p) { p.window_left = 128; }},
    {"window", [](wb_sdpa_problem& p) { p.window_right = -1; }},
    {"softcap", [](wb_sdpa_problem& p) { p.softcap = 30; }},
    {"paged", [](wb_sdpa_problem& p) { p.page_table = k_lengths; }},
    {"paged", [](wb_sdpa_problem& p) { p.page_size = 16; }},
    {"paged", [](wb_sdpa_problem& p) { p.total_pages = 2; }},
    {"paged", [](wb_sdpa_problem& p) { p.page_table_stride = 2; }},
    {"packed", [](wb_sdpa_problem& p) { p.cu_seqlens_q = k_lengths; }},
    {"packed", [](wb_sdpa_problem& p) { p.cu_seqlens_kv = k_lengths; }},
    {"packed", [](wb_sdpa_problem& p) { p.kv_lens = k_lengths; }},
    {"packed", [](wb_sdpa_problem& p) { p.total_q = 5; }},
    {"packed", [](wb_sdpa_problem& p) { p.total_kv = 9; }},
    {"shared", [](wb_sdpa_problem& p) { p.kv_shared = 1; }},
    {"e4m3", [](wb_sdpa_problem& p) { p.dtype = WB_E4M3; }},
    {"out", [](wb_sdpa_problem& p) { p.dtype_out = WB_BF16; }},
};

bool names_word(const char* text, const char* word) {
  return text != nullptr && std::string(text).find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("a problem says what it asks for beyond a dense forward", "[variant][abi]") {
  wb_sdpa_problem dense = abi_problem(abi_test_problem(), true);
  CHECK(dense.abi_version == 1);  // the lowest version that can say it
  CHECK(wb_sdpa_beyond_dense_forward(&dense) == nullptr);
  dense.abi_version = 2;
  CHECK(wb_sdpa_beyond_dense_forward(&dense) == nullptr);
  for (const Beyond& one : k_beyond) {
    INFO(one.word);
    wb_sdpa_problem asking = dense;
    one.ask(asking);
    CHECK(names_word(wb_sdpa_beyond_dense_forward(&asking), one.word));
  }
}

TEST_CASE("of a caller's struct only what it holds is read", "[variant][abi]") {
  const wb_sdpa_problem dense = abi_problem(abi_test_problem(), true);
  const auto old = of_version_1(dense);
  CHECK(wb_sdpa_beyond_dense_forward(old.get()) == nullptr);
  const wb_sdpa_problem whole = wb_sdpa_whole_problem(old.get());
  CHECK(whole.struct_size == sizeof whole);
  CHECK(whole.scale == dense.scale);
  CHECK(whole.pass == WB_FORWARD);
  CHECK(whole.kv_lens == nullptr);
  wb_sdpa_problem reserved = dense;  // what version 1 reserved
  reserved.softcap = 30;
  CHECK(names_word(wb_sdpa_beyond_dense_forward(of_version_1(reserved).get()), "softcap"));
  struct Later {
    wb_sdpa_problem problem;
    std::int64_t appended;
  } later{dense, -1};  // of a caller that is newer than this header
  later.problem.struct_size = sizeof later;
  CHECK(wb_sdpa_whole_problem(&later.problem).struct_size == sizeof(wb_sdpa_problem));
}

TEST_CASE("a call says what it brings beyond a dense forward", "[variant][abi]") {
  const float factor = 1;
  wb_sdpa_args args{};
  args.struct_size = sizeof args;
  CHECK(wb_sdpa_args_beyond_dense_forward(&args) == nullptr);
  for (const float* wb_sdpa_args::*given : {&wb_sdpa_args::sink, &wb_sdpa_args::descale_q,
                                            &wb_sdpa_args::descale_k, &wb_sdpa_args::descale_v}) {
    wb_sdpa_args asking = args;
    asking.*given = &factor;
    CHECK(wb_sdpa_args_beyond_dense_forward(&asking) != nullptr);
    const OfVersion1<wb_sdpa_args> old(asking, WB_SDPA_ARGS_V1_BYTES);
    CHECK(wb_sdpa_args_beyond_dense_forward(old.get()) == nullptr);
  }
}

TEST_CASE("every CPU kernel takes versions 1 and 2 and refuses what it cannot do",
          "[variant][conformance]") {
  const Problem problem = abi_test_problem();
  const Inputs inputs = make_inputs(problem, 4, Draw::normal);
  for (const Variant& variant : cpu_kernels()) {
    INFO(label(variant));
    const LoadedKernel kernel(build(variant, {}, "g++").path.string());
    wb_sdpa_problem dense = abi_problem(problem, false);
    const auto status = [&](const wb_sdpa_problem& asked) {
      wb_sdpa_plan* plan = nullptr;
      const int result = kernel.plan_create(&asked, &plan);
      CHECK((plan == nullptr) == (result != WB_OK));
      if (plan != nullptr) kernel.plan_destroy(plan);
      return result;
    };
    CHECK(status(dense) == WB_OK);
    dense.abi_version = 2;
    CHECK(status(dense) == WB_OK);
    for (const Beyond& one : k_beyond) {
      INFO(one.word);
      wb_sdpa_problem asking = dense;
      one.ask(asking);
      CHECK(status(asking) == WB_UNSUPPORTED);
      CHECK(names_word(kernel.last_error(), one.word));
    }

    PlannedCall call(kernel, problem, inputs, false);
    const float sink = 0;
    call.args.sink = &sink;
    CHECK(kernel.forward(call.plan(), &call.args) == WB_UNSUPPORTED);
  }
}

TEST_CASE("every CPU kernel serves a caller built with the header of version 1",
          "[variant][conformance]") {
  const Problem problem = abi_test_problem();
  const Inputs inputs = make_inputs(problem, 6, Draw::normal);
  for (const Variant& variant : cpu_kernels()) {
    INFO(label(variant));
    const LoadedKernel kernel(build(variant, {}, "g++").path.string());
    PlannedCall call(kernel, problem, inputs, true);
    call.run(1);
    REQUIRE(judge_output(problem, inputs, call.out(), call.lse(), {}).pass);
    const std::vector<std::byte> expected(call.out().begin(), call.out().end());

    std::fill(call.out().begin(), call.out().end(), std::byte{0x5a});
    const auto old_problem = of_version_1(abi_problem(problem, true));
    wb_sdpa_plan* plan = nullptr;
    REQUIRE(kernel.plan_create(old_problem.get(), &plan) == WB_OK);
    const AlignedBytes workspace(kernel.workspace_bytes(plan));
    wb_sdpa_args args = call.args;
    args.workspace = workspace.data();
    const OfVersion1<wb_sdpa_args> old_args(args, WB_SDPA_ARGS_V1_BYTES);
    CHECK(kernel.forward(plan, old_args.get()) == WB_OK);
    CHECK(std::equal(expected.begin(), expected.end(), call.out().begin()));
    kernel.plan_destroy(plan);
  }
}
