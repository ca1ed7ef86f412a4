// SPDX-License-Identifier: MIT
// What every CPU kernel includes: its parts are arithmetic.hpp, formats.hpp, threads.hpp and
// call.hpp; here are the checks of a problem and of a call, and the six ABI functions around one
// forward().
//
// A kernel is one file that defines, in its own namespace, `Needs needs(const wb_sdpa_problem&)`
// and `void forward(const Call&)`, and ends with WB_CPU_KERNEL(needs, forward).
// A search compiles a kernel a hundred times, so these headers are kept cheap: with <algorithm>,
// <cmath>, <thread> and <immintrin.h> a kernel took twice as long to compile
// (docs/results/workbench.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <new>

#include "arithmetic.hpp"
#include "call.hpp"
#include "formats.hpp"
#include "sdpa_abi.h"
#include "threads.hpp"

namespace wb_cpu {

inline constexpr std::size_t k_cache_line_floats = 16;

/// The ABI wants the last error per thread, so this one variable is unavoidable.
inline thread_local char t_last_error[256] = "";

inline int fail(int status, const char* text) {
  std::snprintf(t_last_error, sizeof t_last_error, "%s", text);
  return status;
}

inline int check_problem(const wb_sdpa_problem* p) {
  if (p == nullptr || p->struct_size < WB_SDPA_PROBLEM_V1_BYTES) {
    return fail(WB_FAILED, "wb_sdpa_problem is missing or shorter than any version's");
  }
  if (const char* beyond = wb_sdpa_beyond_dense_forward(p)) return fail(WB_UNSUPPORTED, beyond);
  if (p->dtype < WB_F32 || p->dtype > WB_BF16) return fail(WB_UNSUPPORTED, "unknown dtype");
  if (p->causal < WB_CAUSAL_NONE || p->causal > WB_CAUSAL_BOTTOM_RIGHT) {
    return fail(WB_UNSUPPORTED, "unknown causal kind");
  }
  if (p->mask < WB_MASK_NONE || p->mask > WB_MASK_ADDITIVE) {
    return fail(WB_UNSUPPORTED, "unknown mask kind");
  }
  for (const std::int64_t size :
       {p->batch, p->heads_q, p->heads_kv, p->seq_q, p->seq_kv, p->dim, p->dim_v}) {
    if (size < 1 || size > std::int64_t{1} << 31) return fail(WB_FAILED, "a size is out of range");
  }
  if (p->heads_q % p->heads_kv != 0) return fail(WB_FAILED, "heads_q is no multiple of heads_kv");
  if (!__builtin_isfinite(p->scale)) return fail(WB_FAILED, "the scale is not finite");
  return WB_OK;
}

inline int check_args(const wb_sdpa_problem& p, const wb_sdpa_args* args, bool needs_workspace) {
  if (args == nullptr || args->struct_size < WB_SDPA_ARGS_V1_BYTES) {
    return fail(WB_FAILED, "wb_sdpa_args is missing or shorter than any version's");
  }
  if (const char* beyond = wb_sdpa_args_beyond_dense_forward(args)) {
    return fail(WB_UNSUPPORTED, beyond);
  }
  if (args->q == nullptr || args->k == nullptr || args->v == nullptr || args->out == nullptr ||
      (p.mask != WB_MASK_NONE && args->mask == nullptr) ||
      (needs_workspace && args->workspace == nullptr) ||
      (p.want_lse != 0 && args->lse == nullptr)) {
    return fail(WB_FAILED, "a pointer is missing");
  }
  if (args->threads < 1) return fail(WB_FAILED, "threads is below 1");
  return WB_OK;
}

}  // namespace wb_cpu

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  std::int64_t scratch_floats;  ///< per thread, whole cache lines: threads never share one
  std::int64_t shared_floats;
  wb_cpu::ThreadPool pool;

  wb_sdpa_plan(const wb_sdpa_problem& p, const wb_cpu::Needs& needs)
      : problem(p),
        scratch_floats(wb_cpu::round_up(needs.scratch_floats, wb_cpu::k_cache_line_floats)),
        shared_floats(needs.shared_floats),
        pool(wb_cpu::min(wb_cpu::allowed_cpus(), wb_cpu::max(1, needs.max_threads))) {}
};

/// The body of wb_sdpa_plan_create. A plan that would need more than 256 GiB is refused.
inline int wb_cpu_make_plan(const wb_sdpa_problem* problem,
                            wb_cpu::Needs (*needs_of)(const wb_sdpa_problem&),
                            wb_sdpa_plan** plan) {
  if (plan == nullptr) return wb_cpu::fail(WB_FAILED, "plan is NULL");
  *plan = nullptr;
  if (const int status = wb_cpu::check_problem(problem); status != WB_OK) return status;
  const wb_sdpa_problem whole = wb_sdpa_whole_problem(problem);
  const wb_cpu::Needs needs = needs_of(whole);
  constexpr std::int64_t k_most = std::int64_t{1} << 36;
  if (needs.scratch_floats < 0 || needs.scratch_floats > k_most || needs.shared_floats < 0 ||
      needs.shared_floats > k_most) {
    return wb_cpu::fail(WB_UNSUPPORTED, "the problem needs too large a workspace");
  }
  auto* made = new (std::nothrow) wb_sdpa_plan(whole, needs);
  if (made == nullptr) return wb_cpu::fail(WB_FAILED, "out of memory");
  if (!made->pool.complete()) {
    delete made;
    return wb_cpu::fail(WB_FAILED, "the system refuses a thread");
  }
  *plan = made;
  return WB_OK;
}

/// The body of wb_sdpa_forward.
inline int wb_cpu_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args,
                          void (*forward)(const wb_cpu::Call&)) {
  if (plan == nullptr) return wb_cpu::fail(WB_FAILED, "plan is NULL");
  const int status =
      wb_cpu::check_args(plan->problem, args, plan->scratch_floats > 0 || plan->shared_floats > 0);
  if (status != WB_OK) return status;
  forward(wb_cpu::Call{plan->problem, *args, plan->pool, plan->scratch_floats});
  return WB_OK;
}

/// Defines the functions of sdpa_abi.h around `Needs needs_of(const wb_sdpa_problem&)` and
/// `void forward(const Call&)`.
#define WB_CPU_KERNEL(needs_of, forward)                                                       \
  extern "C" int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {    \
    return wb_cpu_make_plan(problem, needs_of, plan);                                          \
  }                                                                                            \
  extern "C" size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan* plan) {                        \
    return sizeof(float) * static_cast<std::size_t>(plan->scratch_floats * plan->pool.size() + \
                                                    plan->shared_floats);                      \
  }                                                                                            \
  extern "C" int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {               \
    return wb_cpu_forward(plan, args, forward);                                                \
  }                                                                                            \
  extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {                                   \
    delete plan;                                                                               \
  }                                                                                            \
  extern "C" const char* wb_sdpa_last_error(void) {                                            \
    return wb_cpu::t_last_error;                                                               \
  }                                                                                            \
  extern "C" const char* wb_sdpa_build_id(void) {                                              \
    return WB_BUILD_ID;                                                                        \
  }
