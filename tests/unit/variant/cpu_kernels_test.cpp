// SPDX-License-Identifier: MIT
// Conformance: every CPU kernel of the catalogue, built by each compiler that is there, must pass
// the verdict on random problems. A new kernel is covered by being in kernels/.
#include <ctime>
#include <random>
#include <thread>

#include "core/process.hpp"
#include "loaded_kernel.hpp"
#include "problem/verdict.hpp"
#include "variant/builder.hpp"
#include "variant/restriction.hpp"

using namespace wb;
using namespace wb::test;

namespace {

constexpr int k_random_problems = 40;

const fs::path& source_root() {
  static const fs::path k_root = WB_SOURCE_DIR;
  return k_root;
}

std::vector<Variant> cpu_kernels() {
  RealFileSystem file_system;
  const Catalogue catalogue(file_system, {{source_root()}});
  std::vector<Variant> kernels;
  for (const auto& entry : catalogue.list()) {
    auto variant = catalogue.find(entry.name);
    INFO((variant.ok() ? std::string() : variant.error().message()));
    REQUIRE(variant.ok());
    if (variant->manifest.backend == Backend::cpu) kernels.push_back(*std::move(variant));
  }
  return kernels;
}

/// Content-addressed, so it may stay between test runs.
Artifact build(const Variant& variant, const Configuration& configuration,
               const std::string& compiler) {
  RealFileSystem file_system;
  ArtifactCache cache(file_system, fs::path(WB_BINARY_DIR) / "test_artifact_cache");
  const CpuToolchain toolchain(compiler);
  auto artifact = cache.build(variant, configuration, {}, &toolchain);
  INFO((artifact.ok() ? std::string()
                      : artifact.error().message + "\n" + artifact.error().untrusted_output));
  REQUIRE(artifact.ok());
  return *std::move(artifact);
}

template <typename T>
T pick(std::mt19937& random, std::initializer_list<T> from) {
  return *(from.begin() + random() % from.size());
}

Problem random_problem(std::mt19937& random) {
  Problem p;
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
  p.causal = pick(random, {Causal::none, Causal::top_left, Causal::bottom_right});
  p.mask = pick(random, {MaskKind::none, MaskKind::boolean, MaskKind::additive});
  if (p.mask == MaskKind::boolean) p.keep_frac = pick(random, {0.05, 0.5, 0.9});
  p.layout = pick(random, {Layout::bhsd, Layout::bshd});
  if (random() % 4 == 0) p.scale = pick(random, {0.25, 0.03, 1.0 / 3.0});
  REQUIRE(validate(p).ok());
  return p;
}

bool takes(const Variant& variant, const Configuration& configuration, const Problem& problem) {
  const auto violated = violated_restriction(variant.manifest, configuration, &problem);
  REQUIRE(violated.ok());
  return !unsupported_reason(variant.manifest, problem) && !violated->has_value();
}

OutputVerdict judge(const LoadedKernel& kernel, const Problem& problem, std::uint32_t seed,
                    Draw draw, bool want_lse, int threads) {
  const Inputs inputs = make_inputs(problem, seed, draw);
  PlannedCall call(kernel, problem, inputs, want_lse);
  JudgeOptions options;
  options.poison = Poison{seed};
  options.judge_lse = want_lse;
  options.poison->fill(call.out());
  call.run(threads);
  return judge_output(problem, inputs, call.out(), call.lse(), options);
}

/// The default and, where there are parameters, the smallest and the largest allowed values.
std::vector<Configuration> configurations(const Manifest& manifest) {
  std::vector<Configuration> list = {manifest.defaults};
  Configuration smallest, largest;
  for (const auto& [name, values] : manifest.tune_params) {
    smallest[name] = *std::min_element(values.begin(), values.end());
    largest[name] = *std::max_element(values.begin(), values.end());
  }
  for (const Configuration& configuration : {smallest, largest}) {
    const auto violated = violated_restriction(manifest, configuration, nullptr);
    REQUIRE(violated.ok());
    if (!violated->has_value() && configuration != list.front()) list.push_back(configuration);
  }
  return list;
}

void check_conformance(const Variant& variant, const Configuration& configuration,
                       const std::string& compiler) {
  const Artifact artifact = build(variant, configuration, compiler);
  const LoadedKernel kernel(artifact.path.string());
  CHECK(kernel.build_id() == artifact.id);
  std::mt19937 random(20261120);
  for (int n = 0; n < k_random_problems; ++n) {
    const Problem problem = random_problem(random);
    if (!takes(variant, configuration, problem)) continue;
    const Draw draw = pick(random, {Draw::normal, Draw::large, Draw::edge});
    const auto seed = static_cast<std::uint32_t>(random());
    const OutputVerdict verdict = judge(kernel, problem, seed, draw, n % 2 == 0, 1 + n % 3);
    INFO(label(variant) << " " << to_text(configuration) << " " << compiler << "\n"
                        << to_text(problem) << " seed " << seed << " draw "
                        << static_cast<int>(draw) << "\n"
                        << to_json(verdict).dump());
    CHECK(verdict.pass);
  }
}

}  // namespace

TEST_CASE("every CPU kernel passes the verdict, built by g++", "[variant][kernels]") {
  const auto kernels = cpu_kernels();
  CHECK(kernels.size() >= 3);
  for (const Variant& variant : kernels) {
    for (const Configuration& configuration : configurations(variant.manifest)) {
      check_conformance(variant, configuration, "g++");
    }
  }
}

TEST_CASE("every CPU kernel passes the verdict, built by clang++", "[variant][kernels]") {
  if (!find_program("clang++").ok()) {
    WARN("clang++ is not installed: skipped");
    return;
  }
  for (const Variant& variant : cpu_kernels()) {
    check_conformance(variant, variant.manifest.defaults, "clang++");
  }
}

TEST_CASE("every CPU kernel passes without vector extensions", "[variant][kernels]") {
  RealFileSystem file_system;
  ArtifactCache cache(file_system, fs::path(WB_BINARY_DIR) / "test_artifact_cache");
  const CpuToolchain toolchain("g++");
  BuildOptions options;
  options.target = "generic";
  for (const Variant& variant : cpu_kernels()) {
    const auto artifact = cache.build(variant, {}, options, &toolchain);
    REQUIRE(artifact.ok());
    const LoadedKernel kernel(artifact->path.string());
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      Problem problem;
      problem.Sq = problem.Skv = 67;
      problem.D = problem.Dv = 40;
      problem.dtype = dtype;
      problem.mask = MaskKind::additive;
      const OutputVerdict verdict = judge(kernel, problem, 5, Draw::normal, true, 1);
      INFO(label(variant) << " " << to_json(verdict).dump());
      CHECK(verdict.pass);
    }
  }
}

TEST_CASE("conformance sees a kernel whose rescaling is missing", "[variant][kernels]") {
  RealFileSystem file_system;
  const auto parent = read_variant(file_system, source_root() / "kernels", "cpu_online");
  REQUIRE(parent.ok());
  std::string source = parent->files.at("cpu_online/kernel.cpp");
  const std::string line = "row.row_sum *= correction;";
  const std::size_t at = source.find(line);
  REQUIRE(at != std::string::npos);
  source.erase(at, line.size());
  const auto broken = derive_variant(file_system, *parent, {{"kernel.cpp", source}}, "cpu_broken");
  REQUIRE(broken.ok());
  const LoadedKernel kernel(build(*broken, {}, "g++").path.string());
  Problem problem;
  problem.Sq = problem.Skv = 200;
  problem.D = problem.Dv = 32;
  CHECK_FALSE(judge(kernel, problem, 7, Draw::normal, true, 1).pass);
}

TEST_CASE("results do not depend on threads or on earlier calls", "[variant][kernels]") {
  Problem problem;
  problem.B = 2;
  problem.Hq = 4;
  problem.Hkv = 2;
  problem.Sq = problem.Skv = 97;
  problem.D = problem.Dv = 24;
  problem.dtype = Dtype::bf16;
  problem.causal = Causal::top_left;
  const Inputs inputs = make_inputs(problem, 11, Draw::normal);
  for (const Variant& variant : cpu_kernels()) {
    INFO(label(variant));
    const LoadedKernel kernel(build(variant, {}, "g++").path.string());
    PlannedCall call(kernel, problem, inputs, true);
    call.run(1);
    const std::vector<std::byte> first(call.out().begin(), call.out().end());
    for (const int threads : {2, 1, 64, 3}) {
      std::fill(call.out().begin(), call.out().end(), std::byte{0x5a});
      call.run(threads);
      CHECK(std::equal(first.begin(), first.end(), call.out().begin()));
    }
  }
}

TEST_CASE("kernels sleep after a call", "[variant][kernels]") {
  Problem problem;
  problem.Hq = problem.Hkv = 8;
  problem.Sq = problem.Skv = 64;
  problem.D = problem.Dv = 32;
  const Inputs inputs = make_inputs(problem, 3, Draw::normal);
  for (const Variant& variant : cpu_kernels()) {
    INFO(label(variant));
    const LoadedKernel kernel(build(variant, {}, "g++").path.string());
    PlannedCall call(kernel, problem, inputs, false);
    call.run(8);
    const auto cpu_ms = [] { return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
    const double before = cpu_ms();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    CHECK(cpu_ms() - before < 20.0);
  }
}

TEST_CASE("kernels refuse what they were not made for", "[variant][kernels][hostile]") {
  Problem problem;
  problem.Sq = problem.Skv = problem.D = problem.Dv = 4;
  const Inputs inputs = make_inputs(problem, 1, Draw::normal);
  for (const Variant& variant : cpu_kernels()) {
    INFO(label(variant));
    const LoadedKernel kernel(build(variant, {}, "g++").path.string());
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
    CHECK(status([](wb_sdpa_problem&) {}) == WB_OK);
    CHECK(status([](wb_sdpa_problem& p) { p.struct_size = 8; }) == WB_FAILED);
    CHECK(status([](wb_sdpa_problem& p) { p.abi_version = 2; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.dtype = 3; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.causal = -1; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.mask = 9; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.seq_kv = 0; }) == WB_FAILED);
    CHECK(status([](wb_sdpa_problem& p) { p.heads_kv = 3; }) == WB_FAILED);
    CHECK(status([](wb_sdpa_problem& p) { p.scale = NAN; }) == WB_FAILED);
    CHECK(status([](wb_sdpa_problem& p) { p.softcap = 30; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.window_left = 128; }) == WB_UNSUPPORTED);
    CHECK(kernel.plan_create(nullptr, nullptr) == WB_FAILED);

    PlannedCall call(kernel, problem, inputs, false);
    call.args.q = nullptr;
    CHECK(kernel.forward(call.plan(), &call.args) == WB_FAILED);
    CHECK(kernel.forward(call.plan(), nullptr) == WB_FAILED);
    CHECK(kernel.forward(nullptr, &call.args) == WB_FAILED);
  }
}
