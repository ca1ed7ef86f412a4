// SPDX-License-Identifier: MIT
// The plain CUDA kernels, judged on the CPU: their sources, unchanged but for the headers of the
// toolkit, are compiled against tests/support/played_cuda, which runs a block's threads as fibers.
// What only a GPU can tell (speed, and what its compiler makes of the source) is for
// tests/scenario.
#include "played_kernel.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;
using namespace wb::test;
using namespace wb::test::played_cuda;

namespace {

const std::vector<const char*> k_names = {"sm80_query_per_block", "sm80_sequential_kv",
                                          "sm80_tiled_flash", "sm80_wide_heads"};

}  // namespace

TEST_CASE("the plain CUDA kernels pass the verdict", "[variant][played_cuda]") {
  check_all_right(usual_choices());
}

TEST_CASE("the plain CUDA kernels pass the verdict in other forms", "[variant][played_forms]") {
  check_all_right(other_choices());
}

TEST_CASE("the played GPU sees a missing barrier and a missing rescaling",
          "[variant][played_cuda]") {
  check_found({{"sm80_sequential_kv", "__syncthreads();  // K is read", "// K is read", {}},
               {"sm80_query_per_block", "s.acc[d] * alpha", "s.acc[d]", {}},
               {"sm80_tiled_flash", "__syncwarp();", "", {}},
               {"sm80_wide_heads", "__syncthreads();\n  add", "add", {}}});
}

TEST_CASE("the played GPU sees any other missing barrier, wait, rescaling or offset",
          "[variant][played_forms]") {
  check_found({{"sm80_sequential_kv", "r.acc[i] *= alpha", "", {}},
               {"sm80_query_per_block", "__syncthreads();\n  x =", "x =", {}},
               {"sm80_tiled_flash", "__syncthreads();  // the tile", "// the tile", {}},
               {"sm80_tiled_flash", "w.acc[r][c] *= alpha", "", {}},
               {"sm80_tiled_flash",
                "cp_async_wait_group<1>()",
                "cp_async_wait_group<2>()",
                {{"VECTOR_LOADS", 1}, {"ASYNC_COPY", 1}}},
               {"sm80_tiled_flash", "alpha * partial[1]", "partial[1]", {{"SPLIT_KEYS", 64}}},
               {"sm80_wide_heads", "w.column_part * columns", "0", {{"COLUMN_PARTS", 2}}}});
}

TEST_CASE("a barrier that not all threads reach fails the launch", "[variant][played_cuda]") {
  const KernelFolder folder;
  const Variant variant = played(folder, "sm80_query_per_block", "__syncthreads();\n\n",
                                 "if (thread < 32) __syncthreads();\n\n");
  const LoadedKernel kernel(build(variant, {}, "g++").path.string());
  Problem problem;
  problem.Sq = problem.Skv = 3;
  problem.D = problem.Dv = 8;
  PlannedCall call(kernel, problem, make_inputs(problem, 1, Draw::normal), false);
  CHECK(kernel.forward(call.plan(), &call.args) == WB_FAILED);
  CHECK(std::string(kernel.last_error()).find("never reach") != std::string::npos);
}

TEST_CASE("the plain CUDA kernels follow any strides and any broadcast mask",
          "[variant][played_cuda]") {
  constexpr std::int64_t k_gap = 5;
  constexpr float k_untouched = -77.0f;
  Problem problem;
  problem.B = problem.Hq = problem.Hkv = 2;
  problem.Sq = 6;
  problem.Skv = 9;
  problem.D = problem.Dv = 4;
  problem.mask = MaskKind::boolean;
  problem.keep_frac = 0.6;
  const Inputs inputs = make_inputs(problem, 3, Draw::normal);
  for (const char* name : k_names) {
    INFO(name);
    const KernelFolder folder;
    const Variant variant = played(folder, name);
    const LoadedKernel kernel(build(variant, variant.manifest.defaults, "g++").path.string());
    // The first row of the first mask for every row and head: what a contiguous mask of that says.
    const auto out_of = [&](wb_strides out_strides, wb_strides mask_strides,
                            std::span<const std::byte> mask, std::size_t elements) {
      wb_sdpa_problem abi = abi_problem(problem, false);
      abi.out = out_strides;
      abi.mask_strides = mask_strides;
      wb_sdpa_plan* plan = nullptr;
      REQUIRE(kernel.plan_create(&abi, &plan) == WB_OK);
      std::vector<float> out(elements, k_untouched);
      wb_sdpa_args args{};
      args.struct_size = sizeof args;
      args.q = inputs.q.data();
      args.k = inputs.k.data();
      args.v = inputs.v.data();
      args.mask = mask.data();
      args.out = out.data();
      CHECK(kernel.forward(plan, &args) == WB_OK);
      kernel.plan_destroy(plan);
      return out;
    };
    const std::span<const std::byte> mask = std::as_bytes(std::span(inputs.mask));
    std::vector<std::byte> repeated;
    for (std::int64_t row = 0; row < problem.B * problem.Sq; ++row) {
      repeated.insert(repeated.end(), mask.begin(), mask.begin() + problem.Skv);
    }
    const wb_sdpa_problem usual = abi_problem(problem, false);
    const auto rows = problem.B * problem.Hq * problem.Sq;
    const auto dense = out_of(usual.out, usual.mask_strides, repeated,
                              static_cast<std::size_t>(rows * problem.Dv));
    const std::int64_t pitch = problem.Dv + k_gap;
    const auto gaps = out_of({problem.Hq * problem.Sq * pitch, problem.Sq * pitch, pitch},
                             {0, 0, 0}, mask, static_cast<std::size_t>(rows * pitch));
    int differing = 0;
    for (std::int64_t i = 0; i < rows * pitch; ++i) {
      const std::int64_t d = i % pitch;
      const float expected = d < problem.Dv
                                 ? dense[static_cast<std::size_t>(i / pitch * problem.Dv + d)]
                                 : k_untouched;
      differing += gaps[static_cast<std::size_t>(i)] == expected ? 0 : 1;
    }
    CHECK(differing == 0);
    CHECK(dense[0] != k_untouched);
  }
}

TEST_CASE("split keys give the same bits however they are added up, call after call",
          "[variant][played_cuda]") {
  const KernelFolder folder;
  const Variant variant = played(folder, "sm80_tiled_flash");
  Problem problem;
  problem.B = problem.Hq = problem.Hkv = 2;
  problem.Sq = 20;
  problem.Skv = 300;
  problem.D = problem.Dv = 40;
  problem.causal = Causal::top_left;  // most parts have no key for the rows
  const Inputs inputs = make_inputs(problem, 5, Draw::normal);
  std::vector<std::byte> expected;
  for (const std::int64_t merge : {0, 1}) {
    Configuration configuration = variant.manifest.defaults;
    configuration["SPLIT_KEYS"] = 64;
    configuration["MERGE"] = merge;
    const LoadedKernel kernel(build(variant, configuration, "g++").path.string());
    PlannedCall call(kernel, problem, inputs, false);
    CHECK(kernel.workspace_bytes(call.plan()) > 0);
    for (int n = 0; n < 3; ++n) {
      std::ranges::fill(call.out(), std::byte{0xff});
      call.run(1);
      if (expected.empty()) expected.assign(call.out().begin(), call.out().end());
      CHECK(std::ranges::equal(call.out(), expected));
    }
  }
}

TEST_CASE("a plan of the plain CUDA kernels takes nothing from one made before",
          "[variant][played_cuda]") {
  const KernelFolder folder;
  const Variant variant = played(folder, "sm80_query_per_block");
  const LoadedKernel kernel(build(variant, variant.manifest.defaults, "g++").path.string());
  Problem large;
  large.Sq = large.Skv = 2;
  large.D = large.Dv = variant.manifest.support.head_dim_max;
  Problem smaller = large;
  smaller.D = smaller.Dv = 7000;  // more than a kernel has without asking
  PlannedCall first(kernel, large, make_inputs(large, 1, Draw::normal), false);
  PlannedCall second(kernel, smaller, make_inputs(smaller, 1, Draw::normal), false);
  first.run(1);
  second.run(1);
}

TEST_CASE("the plain CUDA kernels refuse what they were not made for", "[variant][played_cuda]") {
  Problem problem;
  problem.Sq = problem.Skv = problem.D = problem.Dv = 4;
  for (const char* name : k_names) {
    INFO(name);
    const KernelFolder folder;
    const Variant variant = played(folder, name);
    const LoadedKernel kernel(build(variant, variant.manifest.defaults, "g++").path.string());
    const auto status = [&](auto change) {
      wb_sdpa_problem abi = abi_problem(problem, false);
      change(abi);
      wb_sdpa_plan* plan = nullptr;
      const int result = kernel.plan_create(&abi, &plan);
      CHECK((plan == nullptr) == (result != WB_OK));
      if (plan != nullptr) kernel.plan_destroy(plan);
      if (result != WB_OK) CHECK(std::string(kernel.last_error()).size() > 5);
      return result;
    };
    const std::int64_t most = variant.manifest.support.head_dim_max;
    CHECK(status([](wb_sdpa_problem&) {}) == WB_OK);
    CHECK(status([&](wb_sdpa_problem& p) { p.dim = p.dim_v = most; }) == WB_OK);
    CHECK(status([&](wb_sdpa_problem& p) { p.dim = most + 1; }) == WB_UNSUPPORTED);
    CHECK(status([&](wb_sdpa_problem& p) { p.dim_v = most + 1; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.seq_q = 1ll << 31; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.batch = 1ll << 40; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.dtype = 3; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.causal = -1; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.mask = 9; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.softcap = 30; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.seq_kv = 0; }) == WB_FAILED);
    CHECK(status([](wb_sdpa_problem& p) { p.batch = 0; }) == WB_FAILED);
    CHECK(kernel.forward(nullptr, nullptr) == WB_FAILED);

    // Both versions of the ABI, and nothing that only the second one can say.
    CHECK(status([](wb_sdpa_problem& p) { p.abi_version = 1; }) == WB_OK);
    CHECK(status([](wb_sdpa_problem& p) { p.abi_version = 2; }) == WB_OK);
    CHECK(status([](wb_sdpa_problem& p) { p.abi_version = 0; }) == WB_FAILED);
    CHECK(status([](wb_sdpa_problem& p) { p.abi_version = 3; }) == WB_FAILED);
    CHECK(status([](wb_sdpa_problem& p) { p.struct_size = 8; }) == WB_FAILED);
    const auto beyond = [&](auto change) {
      return status([&](wb_sdpa_problem& p) {
        p.abi_version = 2;
        change(p);
      });
    };
    CHECK(beyond([](wb_sdpa_problem& p) { p.pass = WB_BACKWARD; }) == WB_UNSUPPORTED);
    CHECK(beyond([](wb_sdpa_problem& p) { p.has_window = 1; }) == WB_UNSUPPORTED);
    CHECK(beyond([](wb_sdpa_problem& p) { p.kv_shared = 1; }) == WB_UNSUPPORTED);
    CHECK(beyond([](wb_sdpa_problem& p) { p.total_kv = 4; }) == WB_UNSUPPORTED);
    CHECK(beyond([](wb_sdpa_problem& p) { p.page_size = 16; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) {  // a caller of version 1 does not have the field
            p.abi_version = 1;
            p.struct_size = WB_SDPA_PROBLEM_V1_BYTES;
            p.pass = WB_BACKWARD;
          }) == WB_OK);
    PlannedCall call(kernel, problem, make_inputs(problem, 1, Draw::normal), false);
    const float logit = 0.0f;
    call.args.sink = &logit;
    CHECK(kernel.forward(call.plan(), &call.args) == WB_UNSUPPORTED);
    call.args.struct_size = WB_SDPA_ARGS_V1_BYTES;
    CHECK(kernel.forward(call.plan(), &call.args) == WB_OK);
    call.args.struct_size = sizeof(std::size_t);
    CHECK(kernel.forward(call.plan(), &call.args) == WB_FAILED);
  }
}
