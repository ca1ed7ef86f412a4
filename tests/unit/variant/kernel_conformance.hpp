// SPDX-License-Identifier: MIT
// How the conformance tests build a CPU kernel and judge it on random problems.
#pragma once

#include <random>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/process.hpp"
#include "loaded_kernel.hpp"
#include "problem/verdict.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "variant/builder.hpp"
#include "variant/restriction.hpp"

namespace wb::test {

inline constexpr int k_random_problems = 40;

inline const fs::path& source_root() {
  static const fs::path k_root = source_dir();
  return k_root;
}

inline std::vector<variant::Variant> cpu_kernels() {
  RealFileSystem file_system;
  const variant::Catalogue catalogue(file_system, {{source_root()}});
  std::vector<variant::Variant> kernels;
  for (const auto& entry : catalogue.list()) {
    auto variant = catalogue.find(entry.name);
    INFO((variant.ok() ? std::string() : variant.error().message()));
    REQUIRE(variant.ok());
    if (variant->manifest.backend == variant::Backend::cpu) kernels.push_back(*std::move(variant));
  }
  return kernels;
}

/// The same kernel at a lower level, which takes a third of the time to compile: what a
/// configuration or a path computes does not hang on the optimizer. tests/long.txt has all as users
/// build them.
inline variant::Variant built_quickly(variant::Variant variant, const std::string& level = "-O1") {
  variant.manifest.compile_flags.push_back(level);
  variant.id = sha256_hex(variant.id + level);
  return variant;
}

/// Content-addressed, so it may stay between test runs.
inline variant::Artifact build(const variant::Variant& variant,
                               const variant::Configuration& configuration,
                               const std::string& compiler, const std::string& target = "native") {
  RealFileSystem file_system;
  variant::ArtifactCache cache(file_system, binary_dir() / "test_artifact_cache");
  const variant::CpuToolchain toolchain(compiler);
  variant::BuildOptions options;
  options.target = target;
  auto artifact = cache.build(variant, configuration, options, &toolchain);
  INFO((artifact.ok() ? std::string()
                      : artifact.error().message + "\n" + artifact.error().untrusted_output));
  REQUIRE(artifact.ok());
  return *std::move(artifact);
}

template <typename T>
T pick(std::mt19937& random, std::initializer_list<T> from) {
  return *(from.begin() + random() % from.size());
}

inline problem::Problem random_problem(std::mt19937& random) {
  problem::Problem p;
  const auto up_to = [&](std::int64_t max) {
    return 1 + static_cast<std::int64_t>(random()) % max;
  };
  p.B = up_to(2);
  p.Hkv = up_to(3);
  p.Hq = p.Hkv * up_to(3);
  p.Sq = pick(random, {std::int64_t{1}, up_to(9), up_to(70), up_to(150)});
  p.Skv = pick(random, {p.Sq, std::int64_t{1}, up_to(20), up_to(260)});
  p.D = pick<std::int64_t>(random, {1, 4, 8, 17, 32, 40, 64, 80, 128});
  p.Dv = random() % 3 == 0 ? pick<std::int64_t>(random, {1, 3, 16, 33, 72}) : p.D;
  p.dtype = pick(random, {Dtype::f32, Dtype::f16, Dtype::bf16});
  p.causal = pick(
      random, {problem::Causal::none, problem::Causal::top_left, problem::Causal::bottom_right});
  p.mask = pick(random,
                {problem::MaskKind::none, problem::MaskKind::boolean, problem::MaskKind::additive});
  if (p.mask == problem::MaskKind::boolean) p.keep_frac = pick(random, {0.05, 0.5, 0.9});
  p.layout = pick(random, {problem::Layout::bhsd, problem::Layout::bshd});
  if (random() % 4 == 0) p.scale = pick(random, {0.25, 0.03, 1.0 / 3.0});
  REQUIRE(problem::validate(p).ok());
  return p;
}

inline bool takes(const variant::Variant& variant, const variant::Configuration& configuration,
                  const problem::Problem& problem) {
  const auto violated = variant::violated_restriction(variant.manifest, configuration, &problem);
  REQUIRE(violated.ok());
  return !variant::unsupported_reason(variant.manifest, problem) && !violated->has_value();
}

inline problem::OutputVerdict judge(const LoadedKernel& kernel, const problem::Problem& problem,
                                    std::uint32_t seed, problem::Draw draw, bool want_lse,
                                    int threads) {
  const problem::Inputs inputs = problem::make_inputs(problem, seed, draw);
  PlannedCall call(kernel, problem, inputs, want_lse);
  problem::JudgeOptions options;
  options.poison = problem::Poison{seed};
  options.judge_lse = want_lse;
  options.poison->fill(call.out());
  call.run(threads);
  return problem::judge_output(problem, inputs, call.out(), call.lse(), options);
}

/// The default and, where there are parameters, the smallest and the largest allowed values.
inline std::vector<variant::Configuration> configurations(const variant::Manifest& manifest) {
  std::vector<variant::Configuration> list = {manifest.defaults};
  variant::Configuration smallest, largest;
  for (const auto& [name, values] : manifest.tune_params) {
    smallest[name] = *std::min_element(values.begin(), values.end());
    largest[name] = *std::max_element(values.begin(), values.end());
  }
  for (const variant::Configuration& configuration : {smallest, largest}) {
    const auto violated = variant::violated_restriction(manifest, configuration, nullptr);
    REQUIRE(violated.ok());
    if (!violated->has_value() && configuration != list.front()) list.push_back(configuration);
  }
  return list;
}

inline void check_conformance(const variant::Variant& variant,
                              const variant::Configuration& configuration,
                              const std::string& compiler, const std::string& target = "native") {
  const variant::Artifact artifact = build(variant, configuration, compiler, target);
  const LoadedKernel kernel(artifact.path.string());
  CHECK(kernel.build_id() == artifact.id);
  std::mt19937 random(20261120);
  for (int n = 0; n < k_random_problems; ++n) {
    const problem::Problem problem = random_problem(random);
    if (!takes(variant, configuration, problem)) continue;
    const problem::Draw draw =
        pick(random, {problem::Draw::normal, problem::Draw::large, problem::Draw::edge});
    const auto seed = static_cast<std::uint32_t>(random());
    const problem::OutputVerdict verdict =
        judge(kernel, problem, seed, draw, n % 2 == 0, 1 + n % 3);
    INFO(label(variant) << " " << variant::to_text(configuration) << " " << compiler << " "
                        << target << "\n"
                        << to_text(problem) << " seed " << seed << " draw "
                        << static_cast<int>(draw) << "\n"
                        << to_json(verdict).dump());
    CHECK(verdict.pass);
  }
}

}  // namespace wb::test
