// SPDX-License-Identifier: MIT
// Host-side helpers that every CUDA variant's ABI functions use: the last error's text, the checks
// of a problem and of a call that are the same for all, launches, and the id given at build time.
// Include it once, in the variant's only translation unit: it defines two of the six exported
// functions.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <new>

#include "sdpa_abi.h"

#ifndef WB_BUILD_ID
#define WB_BUILD_ID "unset"
#endif

namespace wb::gpu {

inline char* error_text() {
  static thread_local char text[512] = "";
  return text;
}

inline constexpr size_t k_error_bytes = 512;

__attribute__((format(printf, 2, 3))) inline int fail(int status, const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::vsnprintf(error_text(), k_error_bytes, format, list);
  va_end(list);
  return status;
}

inline int fail_cuda(const char* attempted, cudaError_t error) {
  return fail(WB_FAILED, "%s: %s (%s)", attempted, cudaGetErrorString(error),
              cudaGetErrorName(error));
}

// What no variant can do anything with, and what none here does: more than a dense forward.
inline int check_problem(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {
  if (plan != nullptr) *plan = nullptr;
  if (problem == nullptr || plan == nullptr) return fail(WB_FAILED, "plan_create: a null pointer");
  if (problem->abi_version < 1 || problem->abi_version > WB_SDPA_ABI_VERSION ||
      problem->struct_size < WB_SDPA_PROBLEM_V1_BYTES) {
    return fail(WB_FAILED, "plan_create: ABI version %d, size %zu; built for version %d, size %zu",
                problem->abi_version, problem->struct_size, WB_SDPA_ABI_VERSION,
                sizeof(wb_sdpa_problem));
  }
  const wb_sdpa_problem& p = *problem;
  if (p.batch < 1 || p.heads_q < 1 || p.heads_kv < 1 || p.seq_q < 1 || p.seq_kv < 1 || p.dim < 1 ||
      p.dim_v < 1 || p.heads_q % p.heads_kv != 0) {
    return fail(WB_FAILED, "plan_create: a size below 1, or heads_q not a multiple of heads_kv");
  }
  if (!(p.scale - p.scale == 0.0)) return fail(WB_FAILED, "plan_create: scale is not finite");
  if (const char* beyond = wb_sdpa_beyond_dense_forward(problem)) {
    return fail(WB_UNSUPPORTED, "plan_create: %s", beyond);
  }
  return WB_OK;
}

// What every forward checks of a call before it reads args.
inline int check_args(const wb_sdpa_problem& p, const wb_sdpa_args* args) {
  if (args == nullptr || args->struct_size < WB_SDPA_ARGS_V1_BYTES || args->q == nullptr ||
      args->k == nullptr || args->v == nullptr || args->out == nullptr ||
      (p.mask != WB_MASK_NONE && args->mask == nullptr)) {
    return fail(WB_FAILED, "forward: a null pointer, or arguments of an older caller");
  }
  if (const char* beyond = wb_sdpa_args_beyond_dense_forward(args)) {
    return fail(WB_UNSUPPORTED, "forward: %s", beyond);
  }
  return WB_OK;
}

inline bool strides_divide_by(wb_strides s, int64_t n) {
  return s.batch % n == 0 && s.head % n == 0 && s.row % n == 0;
}

// The same of the strides that are stepped over: a dimension of size 1 never is.
inline bool used_strides_divide_by(wb_strides s, int64_t batch, int64_t heads, int64_t rows,
                                   int64_t n) {
  return (batch == 1 || s.batch % n == 0) && (heads == 1 || s.head % n == 0) &&
         (rows == 1 || s.row % n == 0);
}

// A row keeps key <= query + offset.
inline int causal_offset_of(const wb_sdpa_problem& p) {
  return p.causal == WB_CAUSAL_NONE       ? int(p.seq_kv)
         : p.causal == WB_CAUSAL_TOP_LEFT ? 0
                                          : int(p.seq_kv - p.seq_q);
}

// The scale's magnitude for exp2. A zero scale becomes 2^-100: exp2 of any score is then 1, and
// -inf stays -inf.
inline float scale_log2_of(const wb_sdpa_problem& p) {
  return std::max(float(std::fabs(p.scale) * 1.4426950408889634), 0x1p-100f);
}

// Params: so, heads_q, group, seq_q, seq_kv, dim_v, causal_offset, scale_log2.
template <class Params>
void set_problem_params(Params& k, const wb_sdpa_problem& p) {
  k.so = p.out;
  k.heads_q = int(p.heads_q);
  k.group = int(p.heads_q / p.heads_kv);
  k.seq_q = int(p.seq_q);
  k.seq_kv = int(p.seq_kv);
  k.dim_v = int(p.dim_v);
  k.causal_offset = causal_offset_of(p);
  k.scale_log2 = scale_log2_of(p);
}

// wb_sdpa_plan_create: Plan has `problem`; check_reach(problem) and prepare(plan) return a status.
template <class Plan, class Check, class Prepare>
int create_plan(const wb_sdpa_problem* problem, Plan** out, Check check_reach, Prepare prepare) {
  int status = check_problem(problem, out);
  if (status == WB_OK) status = check_reach(*problem);
  if (status != WB_OK) return status;
  Plan* plan = new (std::nothrow) Plan{};
  if (plan == nullptr) return fail(WB_FAILED, "plan_create: out of host memory");
  plan->problem = wb_sdpa_whole_problem(problem);
  status = prepare(*plan);
  if (status != WB_OK) {
    delete plan;
    return status;
  }
  *out = plan;
  return WB_OK;
}

struct DeviceFacts {
  int ordinal = 0, sm_count = 0;
};

// Of the current device; returns a status.
inline int read_device(DeviceFacts& device) {
  cudaError_t error = cudaGetDevice(&device.ordinal);
  if (error == cudaSuccess)
    error =
        cudaDeviceGetAttribute(&device.sm_count, cudaDevAttrMultiProcessorCount, device.ordinal);
  return error == cudaSuccess ? WB_OK : fail_cuda("reading the device's attributes", error);
}

inline cudaLaunchConfig_t launch_config(dim3 grid, int threads, int smem_bytes, void* stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(unsigned(threads));
  config.dynamicSmemBytes = size_t(smem_bytes);
  config.stream = static_cast<cudaStream_t>(stream);
  return config;
}

// Adds, behind the attributes that the launch already has, the leave to start while the previous
// kernel of the stream drains. The kernel must then call griddepcontrol_wait.
inline void allow_early_start(cudaLaunchConfig_t& config, cudaLaunchAttribute* attributes,
                              bool allowed) {
  if (!allowed) return;
  attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[config.numAttrs].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = attributes;
  ++config.numAttrs;
}

}  // namespace wb::gpu

extern "C" {
WB_SDPA_EXPORT const char* wb_sdpa_last_error(void) {
  return wb::gpu::error_text();
}
WB_SDPA_EXPORT const char* wb_sdpa_build_id(void) {
  return WB_BUILD_ID;
}
}
