// SPDX-License-Identifier: MIT
// A built CPU kernel loaded into the test process, one call of it on a problem, and how the
// conformance tests judge it on random ones. Tests may load kernels; the host library never does.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/process.hpp"
#include "problem/inputs.hpp"
#include "problem/verdict.hpp"
#include "sdpa_abi.h"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "variant/builder.hpp"
#include "variant/restriction.hpp"

namespace wb::test {

/// 256-byte aligned, as the ABI promises.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size_bytes)
      : m_size_bytes(size_bytes),
        m_data(static_cast<std::byte*>(std::aligned_alloc(256, (size_bytes / 256 + 1) * 256))) {
    REQUIRE(m_data != nullptr);
    std::memset(m_data.get(), 0, m_size_bytes);
  }
  explicit AlignedBytes(std::span<const std::byte> from) : AlignedBytes(from.size()) {
    std::copy(from.begin(), from.end(), m_data.get());
  }
  [[nodiscard]] std::byte* data() const { return m_data.get(); }
  [[nodiscard]] std::span<std::byte> bytes() const { return {m_data.get(), m_size_bytes}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t m_size_bytes;
  std::unique_ptr<std::byte, Free> m_data;
};

inline wb_strides strides_of(problem::Layout layout, std::int64_t heads, std::int64_t rows,
                             std::int64_t dim) {
  if (layout == problem::Layout::bhsd) return {heads * rows * dim, rows * dim, dim};
  return {heads * rows * dim, dim, heads * dim};
}

inline wb_sdpa_problem abi_problem(const problem::Problem& p, bool want_lse) {
  wb_sdpa_problem abi{};
  abi.struct_size = sizeof abi;
  abi.abi_version = 1;  // that of a dense forward
  abi.dtype = static_cast<std::int32_t>(p.dtype);
  abi.causal = static_cast<std::int32_t>(p.causal);
  abi.mask = static_cast<std::int32_t>(p.mask);
  abi.batch = p.B;
  abi.heads_q = p.Hq;
  abi.heads_kv = p.Hkv;
  abi.seq_q = p.Sq;
  abi.seq_kv = p.Skv;
  abi.dim = p.D;
  abi.dim_v = p.Dv;
  abi.q = strides_of(p.layout, p.Hq, p.Sq, p.D);
  abi.k = strides_of(p.layout, p.Hkv, p.Skv, p.D);
  abi.v = strides_of(p.layout, p.Hkv, p.Skv, p.Dv);
  abi.out = strides_of(p.layout, p.Hq, p.Sq, p.Dv);
  abi.mask_strides = {p.Sq * p.Skv, 0, p.Skv};  // [B, 1, Sq, Skv]
  abi.scale = problem::effective_scale(p);
  abi.want_lse = want_lse ? 1 : 0;
  abi.device = -1;
  return abi;
}

class LoadedKernel {
 public:
  explicit LoadedKernel(const std::string& path)
      : m_library(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    INFO((m_library ? std::string() : std::string(::dlerror())));
    REQUIRE(m_library != nullptr);
    plan_create = symbol<decltype(&wb_sdpa_plan_create)>("wb_sdpa_plan_create");
    workspace_bytes = symbol<decltype(&wb_sdpa_workspace_bytes)>("wb_sdpa_workspace_bytes");
    forward = symbol<decltype(&wb_sdpa_forward)>("wb_sdpa_forward");
    plan_destroy = symbol<decltype(&wb_sdpa_plan_destroy)>("wb_sdpa_plan_destroy");
    last_error = symbol<decltype(&wb_sdpa_last_error)>("wb_sdpa_last_error");
    build_id = symbol<decltype(&wb_sdpa_build_id)>("wb_sdpa_build_id");
  }
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  ~LoadedKernel() { ::dlclose(m_library); }

  decltype(&wb_sdpa_plan_create) plan_create;
  decltype(&wb_sdpa_workspace_bytes) workspace_bytes;
  decltype(&wb_sdpa_forward) forward;
  decltype(&wb_sdpa_plan_destroy) plan_destroy;
  decltype(&wb_sdpa_last_error) last_error;
  decltype(&wb_sdpa_build_id) build_id;

 private:
  template <typename Function>
  Function symbol(const char* name) {
    void* address = ::dlsym(m_library, name);
    INFO(name);
    REQUIRE(address != nullptr);
    return reinterpret_cast<Function>(address);
  }
  void* m_library;
};

/// One plan on one problem, with everything a call needs.
class PlannedCall {
 public:
  PlannedCall(const LoadedKernel& kernel, const problem::Problem& problem,
              const problem::Inputs& inputs, bool want_lse)
      : m_kernel(kernel),
        m_q(inputs.q),
        m_k(inputs.k),
        m_v(inputs.v),
        m_mask(inputs.mask),
        m_out(problem::out_bytes(problem)),
        m_lse(static_cast<std::size_t>(problem.B * problem.Hq * problem.Sq) * sizeof(float)),
        m_workspace(0) {
    const wb_sdpa_problem abi = abi_problem(problem, want_lse);
    const int status = kernel.plan_create(&abi, &m_plan);
    INFO(kernel.last_error());
    REQUIRE(status == WB_OK);
    m_workspace = AlignedBytes(kernel.workspace_bytes(m_plan));
    args.struct_size = sizeof args;
    args.q = m_q.data();
    args.k = m_k.data();
    args.v = m_v.data();
    args.mask = inputs.mask.empty() ? nullptr : m_mask.data();
    args.out = m_out.data();
    args.lse = want_lse ? reinterpret_cast<float*>(m_lse.data()) : nullptr;
    args.workspace = m_workspace.data();
    args.threads = 1;
  }
  PlannedCall(const PlannedCall&) = delete;
  PlannedCall& operator=(const PlannedCall&) = delete;
  ~PlannedCall() { m_kernel.plan_destroy(m_plan); }

  void run(int threads) {
    args.threads = threads;
    const int status = m_kernel.forward(m_plan, &args);
    INFO(m_kernel.last_error());
    REQUIRE(status == WB_OK);
  }
  [[nodiscard]] std::span<std::byte> out() const { return m_out.bytes(); }
  [[nodiscard]] std::span<const float> lse() const {
    if (args.lse == nullptr) return {};
    return {args.lse, m_lse.bytes().size() / sizeof(float)};
  }
  wb_sdpa_plan* plan() { return m_plan; }
  wb_sdpa_args args{};

 private:
  const LoadedKernel& m_kernel;
  AlignedBytes m_q, m_k, m_v, m_mask, m_out, m_lse, m_workspace;
  wb_sdpa_plan* m_plan = nullptr;
};

inline constexpr int k_random_problems = 40;

inline std::vector<variant::Variant> cpu_kernels() {
  RealFileSystem file_system;
  const variant::Catalogue catalogue(file_system, {{source_dir()}});
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
