// SPDX-License-Identifier: MIT
// The plain CUDA kernels, judged on the CPU: their sources, unchanged but for the headers of the
// toolkit, are compiled against tests/support/played_cuda, which runs a block's threads as fibers.
// What only a GPU can tell (speed, and what its compiler makes of the source) is for
// tests/scenario.
#include <fstream>
#include <regex>

#include "kernel_conformance.hpp"
#include "kernel_folder.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;
using namespace wb::test;

namespace {

constexpr int k_problems = 10;

std::string text_of(const fs::path& path) {
  const auto text = RealFileSystem().read(path, 1u << 20);
  INFO(path);
  REQUIRE(text.ok());
  return *text;
}

/// Quoted includes are looked for in the folder `common`, which holds the played headers.
std::string with_played_headers(const std::string& source) {
  static const std::regex k_include("#include <(cuda_[a-z0-9]+\\.h)>");
  return std::regex_replace(source, k_include, "#include \"$1\"");
}

/// The kernel as a variant of the CPU, after `from` in it became `to`.
Variant played(const KernelFolder& folder, const std::string& name, const std::string& from = "",
               const std::string& to = "") {
  const fs::path kernels = source_root() / "kernels";
  for (const char* header : {"plan.cuh", "scalar_launches.cuh", "scalar_rows.cuh", "sdpa_abi.h"}) {
    folder.write(std::string("common/") + header,
                 with_played_headers(text_of(kernels / "common" / header)));
  }
  for (const char* header : {"cp_async.cuh", "cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h"}) {
    folder.write(std::string("common/") + header,
                 text_of(source_root() / "tests/support/played_cuda" / header));
  }
  Json manifest = Json::parse(text_of(kernels / name / "kernel.json"));
  CHECK(manifest["architectures"] == Json{"sm_80"});
  manifest["backend"] = "cpu";
  bool found = false;
  for (Json& file : manifest["sources"]) {
    std::string source = text_of(kernels / name / file.get<std::string>());
    const std::size_t at = source.find(from);
    if (at != std::string::npos && !found) source.replace(at, from.size(), to);
    found = found || at != std::string::npos;
    if (file == "kernel.cu") file = "kernel.cpp";
    folder.write(name + "/" + file.get<std::string>(), source);
  }
  REQUIRE(found);
  manifest.erase("architectures");
  // Which products become parts of a fused multiply-add is g++'s choice, another one in every
  // kernel and on every processor; what is asked for here is that results do not hang on it.
  manifest["compile_flags"] = Json{"-ffp-contract=off"};
  folder.write(name + "/kernel.json", manifest.dump());
  return folder.must_read(name);
}

/// Threads are fibers: few rows, but more than a block's and more keys than a step's.
Problem small_problem(std::mt19937& random) {
  Problem p = wb::test::random_problem(random);
  const std::int64_t heads = p.B * p.Hq;
  const bool square = p.Sq == p.Skv;
  p.Sq = std::min<std::int64_t>(p.Sq, heads > 4 ? 9 : 80);
  if (square) p.Skv = p.Sq;
  if (!square && p.Sq < 10 && random() % 2 == 0) p.Skv += 300;  // several steps of any size
  if (random() % 8 == 0) p.D = p.Dv = 200;
  return p;
}

/// Judges random problems, each of which must be right, or else until one is wrong.
bool all_right(const LoadedKernel& kernel, const Variant& variant,
               const Configuration& configuration, bool is_asserted) {
  std::mt19937 random(20261122);
  int taken = 0;
  for (int n = 0; n < k_problems; ++n) {
    const Problem problem = small_problem(random);
    const Draw draw = pick(random, {Draw::normal, Draw::large, Draw::edge});
    const auto seed = static_cast<std::uint32_t>(random());
    if (!takes(variant, configuration, problem)) continue;
    const OutputVerdict verdict = judge(kernel, problem, seed, draw, n % 2 == 0, 1);
    INFO(label(variant) << " " << to_text(problem) << " seed " << seed << " draw "
                        << static_cast<int>(draw) << "\n"
                        << to_json(verdict).dump());
    if (is_asserted) CHECK(verdict.pass);
    if (!verdict.pass) return false;
    ++taken;
  }
  CHECK(taken > k_problems / 2);
  return true;
}

const std::vector<const char*> k_names = {"sm80_query_per_block", "sm80_sequential_kv",
                                          "sm80_tiled_flash", "sm80_wide_heads"};

struct Choice {
  const char* name;
  Configuration configuration;
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> k_choices = {
      {"sm80_query_per_block", {}},
      {"sm80_query_per_block", {{"THREADS", 64}}},
      {"sm80_sequential_kv", {}},
      {"sm80_sequential_kv", {{"TILE_ROWS", 32}, {"TILE_KEYS", 32}, {"THREADS_PER_ROW", 4}}},
      {"sm80_sequential_kv", {{"TILE_ROWS", 16}, {"TILE_KEYS", 128}, {"THREADS_PER_ROW", 8}}},
      {"sm80_sequential_kv", {{"TILE_ROWS", 128}, {"TILE_KEYS", 16}, {"THREADS_PER_ROW", 2}}},
      {"sm80_tiled_flash", {}},
      {"sm80_tiled_flash", {{"QUERIES", 4}, {"PADDING", 4}, {"TILE_KEYS", 32}, {"GRID", 0}}},
      {"sm80_tiled_flash",
       {{"QUERIES", 64}, {"WARPS", 8}, {"VECTOR_LOADS", 1}, {"PADDING", 16}, {"GRID", 2}}},
      {"sm80_tiled_flash",
       {{"QUERIES", 8}, {"VECTOR_LOADS", 1}, {"ASYNC_COPY", 1}, {"SPLIT_KEYS", 64}, {"GRID", 0}}},
      {"sm80_tiled_flash",
       {{"TILE_KEYS", 32},
        {"VECTOR_LOADS", 1},
        {"ASYNC_COPY", 1},
        {"SPLIT_KEYS", 64},
        {"MERGE", 1},
        {"GRID", 2}}},
      {"sm80_wide_heads", {}},
      {"sm80_wide_heads", {{"QUERIES", 4}, {"COLUMN_PARTS", 2}, {"THREADS", 128}}}};
  return k_choices;
}

}  // namespace

TEST_CASE("the plain CUDA kernels pass the verdict", "[variant][played_cuda]") {
  for (const Choice& choice : choices()) {
    const KernelFolder folder;
    const Variant variant = played(folder, choice.name);
    Configuration configuration = variant.manifest.defaults;
    for (const auto& [name, value] : choice.configuration) configuration[name] = value;
    INFO(to_text(configuration));
    const LoadedKernel kernel(build(variant, configuration, "g++").path.string());
    all_right(kernel, variant, configuration, true);
  }
}

TEST_CASE("the played GPU sees a missing barrier and a missing rescaling",
          "[variant][played_cuda]") {
  struct Fault {
    const char *name, *from, *to;
    Configuration configuration;
  };
  for (const Fault& fault :
       {Fault{"sm80_sequential_kv", "__syncthreads();  // K is read", "// K is read", {}},
        Fault{"sm80_sequential_kv", "r.acc[i] *= alpha", "", {}},
        Fault{"sm80_query_per_block", "__syncthreads();\n  x =", "x =", {}},
        Fault{"sm80_query_per_block", "s.acc[d] * alpha", "s.acc[d]", {}},
        Fault{"sm80_tiled_flash", "__syncthreads();  // the tile", "// the tile", {}},
        Fault{"sm80_tiled_flash", "__syncwarp();", "", {}},
        Fault{"sm80_tiled_flash", "w.acc[r][c] *= alpha", "", {}},
        Fault{"sm80_tiled_flash",
              "cp_async_wait_group<1>()",
              "cp_async_wait_group<2>()",
              {{"VECTOR_LOADS", 1}, {"ASYNC_COPY", 1}}},
        Fault{"sm80_tiled_flash", "alpha * partial[1]", "partial[1]", {{"SPLIT_KEYS", 64}}},
        Fault{"sm80_wide_heads", "__syncthreads();\n  add", "add", {}},
        Fault{"sm80_wide_heads", "w.column_part * columns", "0", {{"COLUMN_PARTS", 2}}}}) {
    INFO(fault.name << ": " << fault.from);
    const KernelFolder folder;
    const Variant variant = played(folder, fault.name, fault.from, fault.to);
    Configuration configuration = variant.manifest.defaults;
    for (const auto& [name, value] : fault.configuration) configuration[name] = value;
    const LoadedKernel kernel(build(variant, configuration, "g++").path.string());
    CHECK_FALSE(all_right(kernel, variant, configuration, false));
  }
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
  }
}
