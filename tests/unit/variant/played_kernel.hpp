// SPDX-License-Identifier: MIT
// How the tests of plain CUDA kernels build them against tests/support/played_cuda and judge them:
// the forms of each, and faults that the played GPU must see.
#pragma once

#include <fstream>
#include <regex>

#include "core/json.hpp"
#include "kernel_conformance.hpp"
#include "kernel_folder.hpp"

namespace wb::test::played_cuda {

using problem::Draw;
using problem::OutputVerdict;
using problem::Problem;
using variant::Configuration;
using variant::Variant;

inline constexpr int k_problems = 10;

inline std::string text_of(const fs::path& path) {
  const auto text = RealFileSystem().read(path, 1u << 20);
  INFO(path);
  REQUIRE(text.ok());
  return *text;
}

/// Quoted includes are looked for in the folder `common`, which holds the played headers.
inline std::string with_played_headers(const std::string& source) {
  static const std::regex k_include("#include <(cuda_[a-z0-9]+\\.h)>");
  return std::regex_replace(source, k_include, "#include \"$1\"");
}

/// The kernel as a variant of the CPU, after `from` in it became `to`.
inline Variant played(const KernelFolder& folder, const std::string& name,
                      const std::string& from = "", const std::string& to = "") {
  const fs::path kernels = source_dir() / "kernels";
  for (const char* header : {"cuda/plan.cuh", "cuda/scalar_launches.cuh", "cuda/scalar_plan.cuh",
                             "cuda/scalar_rows.cuh", "sdpa_abi.h"}) {
    folder.write(std::string("common/") + header,
                 with_played_headers(text_of(kernels / "common" / header)));
  }
  const fs::path played_cuda = source_dir() / "tests/support/played_cuda";
  for (const char* header : {"cuda_runtime.h", "fibers.h", "cuda_fp16.h", "cuda_bf16.h"}) {
    folder.write(std::string("common/") + header, text_of(played_cuda / header));
  }
  folder.write("common/sm80/cp_async.cuh", text_of(played_cuda / "cp_async.cuh"));
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
  // kernel and on every processor; what is asked for here is that results do not hang on it. What
  // -O3 makes of them is another compiler's matter on a GPU.
  manifest["compile_flags"] = Json{"-ffp-contract=off", "-O1"};
  folder.write(name + "/kernel.json", manifest.dump());
  return folder.must_read(name);
}

/// Threads are fibers: few rows, but more than a block's and more keys than a step's.
inline Problem small_problem(std::mt19937& random) {
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
inline bool all_right(const LoadedKernel& kernel, const Variant& variant,
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

struct Choice {
  const char* name;
  Configuration configuration;
};

/// Each kernel as it is shipped, and the one with the most branches in another form.
inline const std::vector<Choice>& usual_choices() {
  static const std::vector<Choice> k_choices = {{"sm80_query_per_block", {}},
                                                {"sm80_sequential_kv", {}},
                                                {"sm80_tiled_flash", {}},
                                                {"sm80_tiled_flash",
                                                 {{"TILE_KEYS", 32},
                                                  {"VECTOR_LOADS", 1},
                                                  {"ASYNC_COPY", 1},
                                                  {"SPLIT_KEYS", 64},
                                                  {"MERGE", 1},
                                                  {"GRID", 2}}},
                                                {"sm80_wide_heads", {}}};
  return k_choices;
}
inline const std::vector<Choice>& other_choices() {
  static const std::vector<Choice> k_choices = {
      {"sm80_query_per_block", {{"THREADS", 64}}},
      {"sm80_sequential_kv", {{"TILE_ROWS", 32}, {"TILE_KEYS", 32}, {"THREADS_PER_ROW", 4}}},
      {"sm80_sequential_kv", {{"TILE_ROWS", 16}, {"TILE_KEYS", 128}, {"THREADS_PER_ROW", 8}}},
      {"sm80_sequential_kv", {{"TILE_ROWS", 128}, {"TILE_KEYS", 16}, {"THREADS_PER_ROW", 2}}},
      {"sm80_tiled_flash", {{"QUERIES", 4}, {"PADDING", 4}, {"TILE_KEYS", 32}, {"GRID", 0}}},
      {"sm80_tiled_flash",
       {{"QUERIES", 64}, {"WARPS", 8}, {"VECTOR_LOADS", 1}, {"PADDING", 16}, {"GRID", 2}}},
      {"sm80_tiled_flash",
       {{"QUERIES", 8}, {"VECTOR_LOADS", 1}, {"ASYNC_COPY", 1}, {"SPLIT_KEYS", 64}, {"GRID", 0}}},
      {"sm80_wide_heads", {{"QUERIES", 4}, {"COLUMN_PARTS", 2}, {"THREADS", 128}}}};
  return k_choices;
}

inline void check_all_right(const std::vector<Choice>& choices) {
  for (const Choice& choice : choices) {
    const KernelFolder folder;
    const Variant variant = played(folder, choice.name);
    Configuration configuration = variant.manifest.defaults;
    for (const auto& [name, value] : choice.configuration) configuration[name] = value;
    INFO(to_text(configuration));
    const LoadedKernel kernel(build(variant, configuration, "g++").path.string());
    all_right(kernel, variant, configuration, true);
  }
}

struct Fault {
  const char *name, *from, *to;
  Configuration configuration;
};

inline void check_found(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    INFO(fault.name << ": " << fault.from);
    const KernelFolder folder;
    const Variant variant = played(folder, fault.name, fault.from, fault.to);
    Configuration configuration = variant.manifest.defaults;
    for (const auto& [name, value] : fault.configuration) configuration[name] = value;
    const LoadedKernel kernel(build(variant, configuration, "g++").path.string());
    CHECK_FALSE(all_right(kernel, variant, configuration, false));
  }
}

}  // namespace wb::test::played_cuda
