// SPDX-License-Identifier: MIT
#include "worker/builtin.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "worker/cuda/device/params.hpp"
#include "worker/cuda/device_code.hpp"
#include "worker/cuda/module.hpp"

/// The ABI leaves this type to the variant; built-in variants only need the problem.
struct wb_sdpa_plan {
  wb_sdpa_problem problem{};
  std::vector<float> scores;  // of one row
};

namespace wb::worker {
namespace {

const char* no_error() {
  return "the built-in variant takes f32 without a mask only";
}
const char* no_build_id() {
  return "builtin";
}
std::size_t no_workspace(const wb_sdpa_plan*) {
  return 0;
}
void destroy(wb_sdpa_plan* plan) {
  delete plan;
}

int create_any(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {
  *plan = new wb_sdpa_plan{*problem, std::vector<float>(static_cast<std::size_t>(problem->seq_kv))};
  return WB_OK;
}

int create_canary(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {
  const bool taken = problem->dtype == WB_F32 && problem->mask == WB_MASK_NONE;
  return taken ? create_any(problem, plan) : WB_UNSUPPORTED;
}

int forward_empty(wb_sdpa_plan*, const wb_sdpa_args*) {
  return WB_OK;
}

std::int64_t visible(const wb_sdpa_problem& p, std::int64_t row) {
  if (p.causal == WB_CAUSAL_NONE) return p.seq_kv;
  const std::int64_t shift = p.causal == WB_CAUSAL_BOTTOM_RIGHT ? p.seq_kv - p.seq_q : 0;
  return std::clamp<std::int64_t>(row + shift + 1, 0, p.seq_kv);
}

void one_row(wb_sdpa_plan& plan, const wb_sdpa_args& args, std::int64_t b, std::int64_t h,
             std::int64_t row) {
  const wb_sdpa_problem& p = plan.problem;
  const std::int64_t kv_head = h / (p.heads_q / p.heads_kv);
  const auto* q = static_cast<const float*>(args.q) + b * p.q.batch + h * p.q.head + row * p.q.row;
  const auto* k = static_cast<const float*>(args.k) + b * p.k.batch + kv_head * p.k.head;
  const auto* v = static_cast<const float*>(args.v) + b * p.v.batch + kv_head * p.v.head;
  auto* out = static_cast<float*>(args.out) + b * p.out.batch + h * p.out.head + row * p.out.row;
  const std::int64_t keys = visible(p, row);
  float maximum = -INFINITY, sum = 0;
  for (std::int64_t key = 0; key < keys; ++key) {
    float dot = 0;
    for (std::int64_t d = 0; d < p.dim; ++d) dot += q[d] * k[key * p.k.row + d];
    const float score = dot * static_cast<float>(p.scale);
    plan.scores[static_cast<std::size_t>(key)] = score;
    maximum = std::max(maximum, score);
  }
  std::fill(out, out + p.dim_v, 0.0f);
  for (std::int64_t key = 0; key < keys; ++key) {
    const float weight = std::exp(plan.scores[static_cast<std::size_t>(key)] - maximum);
    sum += weight;
    for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] += weight * v[key * p.v.row + d];
  }
  for (std::int64_t d = 0; d < p.dim_v && keys > 0; ++d) out[d] /= sum;
  if (args.lse != nullptr) {
    args.lse[(b * p.heads_q + h) * p.seq_q + row] = keys > 0 ? maximum + std::log(sum) : -INFINITY;
  }
}

int forward_canary(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  const wb_sdpa_problem& p = plan->problem;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads_q; ++h) {
      for (std::int64_t row = 0; row < p.seq_q; ++row) one_row(*plan, *args, b, h, row);
    }
  }
  return WB_OK;
}

}  // namespace

Outcome<VariantApi> builtin_variant(std::string_view name) {
  if (name == "canary") {
    return VariantApi{create_canary, no_workspace, forward_canary, destroy, no_error, no_build_id};
  }
  if (name == "empty") {
    return VariantApi{create_any, no_workspace, forward_empty, destroy, no_error, no_build_id};
  }
  return Failure{Invalidity::environment, "no such built-in variant", {}};
}

}  // namespace wb::worker

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
