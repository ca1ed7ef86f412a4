// SPDX-License-Identifier: MIT
#include "worker/cuda/builtin.hpp"

#include <optional>
#include <utility>

#include "worker/cuda/device/params.hpp"
#include "worker/cuda/device_code.hpp"
#include "worker/cuda/module.hpp"

namespace wb::worker::cuda {
namespace {

constexpr int k_threads = 64;  // per block: the canary's problem has few rows

/// One per process, since a process has one variant and the ABI's functions have no context
/// argument.
struct Canary {
  const Stream* stream = nullptr;
  std::optional<Kernel> kernel;
  std::string error = "the built-in variant takes f32 without a mask only";
};
Canary g_canary;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// The ABI leaves wb_sdpa_plan to the variant; here it is the problem.
const wb_sdpa_problem& problem_of(const wb_sdpa_plan* plan) {
  return *reinterpret_cast<const wb_sdpa_problem*>(plan);
}

int create_any(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {
  *plan = reinterpret_cast<wb_sdpa_plan*>(new wb_sdpa_problem(*problem));
  return WB_OK;
}

int create_canary(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {
  const bool taken = problem->dtype == WB_F32 && problem->mask == WB_MASK_NONE;
  return taken ? create_any(problem, plan) : WB_UNSUPPORTED;
}

void destroy(wb_sdpa_plan* plan) {
  delete reinterpret_cast<wb_sdpa_problem*>(plan);
}

std::size_t no_workspace(const wb_sdpa_plan*) {
  return 0;
}
const char* last_error() {
  return g_canary.error.c_str();
}
const char* no_build_id() {
  return "builtin";
}
int forward_empty(wb_sdpa_plan*, const wb_sdpa_args*) {
  return WB_OK;
}

device::Strides strides(const wb_strides& of) {
  return {of.batch, of.head, of.row};
}

device::CausalRule rule_of(int causal) {
  if (causal == WB_CAUSAL_NONE) return device::CausalRule::none;
  return causal == WB_CAUSAL_TOP_LEFT ? device::CausalRule::top_left
                                      : device::CausalRule::bottom_right;
}

int forward_canary(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  const wb_sdpa_problem& p = problem_of(plan);
  device::CanaryParams canary{};
  canary.q = static_cast<const float*>(args->q);
  canary.k = static_cast<const float*>(args->k);
  canary.v = static_cast<const float*>(args->v);
  canary.out = static_cast<float*>(args->out);
  canary.lse = args->lse;
  canary.B = p.batch, canary.Hq = p.heads_q, canary.Hkv = p.heads_kv;
  canary.Sq = p.seq_q, canary.Skv = p.seq_kv, canary.D = p.dim, canary.Dv = p.dim_v;
  canary.q_strides = strides(p.q);
  canary.k_strides = strides(p.k);
  canary.v_strides = strides(p.v);
  canary.out_strides = strides(p.out);
  canary.scale = static_cast<float>(p.scale);
  canary.causal = rule_of(p.causal);
  const std::int64_t rows = p.batch * p.heads_q * p.seq_q;
  const auto launched = g_canary.kernel->launch(
      *g_canary.stream, {.x = (rows + k_threads - 1) / k_threads, .threads = k_threads}, canary);
  if (launched.ok()) return WB_OK;
  g_canary.error = launched.error().message();
  return WB_FAILED;
}

CudaResult<Kernel> canary_kernel(const Stream& stream) {
  WB_TRY_ASSIGN(const DeviceCode code, device_code());
  WB_TRY_ASSIGN(const auto module,
                Module::load(stream.context(), code.canary, "the device code of the canary"));
  return module->kernel("wb_canary");
}

}  // namespace

Outcome<VariantApi> builtin_variant(std::string_view name, const Stream& stream) {
  if (name == "empty") {
    return VariantApi{create_any, no_workspace, forward_empty, destroy, last_error, no_build_id};
  }
  if (name != "canary") {
    return Failure{Invalidity::environment, "no such built-in variant", {}};
  }
  auto kernel = canary_kernel(stream);
  if (!kernel.ok()) return Failure{Invalidity::environment, kernel.error().message(), {}};
  g_canary.stream = &stream;
  g_canary.kernel.emplace(*std::move(kernel));
  return VariantApi{create_canary, no_workspace, forward_canary, destroy, last_error, no_build_id};
}

}  // namespace wb::worker::cuda
