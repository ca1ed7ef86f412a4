// SPDX-License-Identifier: MIT
// Plain f32 attention as in scalar_rows.cuh, for kernels whose launch that header does not have: a
// grid of another size, a workspace, a second kernel. They define the plan and the functions over
// it themselves. Include it once. Included by sm80_tiled_flash and sm80_wide_heads.
#pragma once

#include "plan.cuh"

// scalar_rows.cuh brings the plan and the functions of one launch of B Hq parts. Its bytes are part
// of the ids of recorded kernels, so it stays as it is, and those get names of their own here.
#define wb_sdpa_plan scalar_rows_plan
#define wb_sdpa_workspace_bytes scalar_rows_workspace_bytes
#define wb_sdpa_forward scalar_rows_forward
#define wb_sdpa_plan_destroy scalar_rows_plan_destroy
#include "scalar_rows.cuh"
#undef wb_sdpa_plan
#undef wb_sdpa_workspace_bytes
#undef wb_sdpa_forward
#undef wb_sdpa_plan_destroy

namespace wb::gpu {

// Puts a call's pointers into the parameters; returns a status.
inline int take_arguments(ScalarParams& params, const wb_sdpa_problem& p, const wb_sdpa_args* args,
                          bool needs_workspace) {
  if (args == nullptr || args->struct_size < sizeof(wb_sdpa_args) || args->q == nullptr ||
      args->k == nullptr || args->v == nullptr || args->out == nullptr ||
      (p.mask != WB_MASK_NONE && args->mask == nullptr) ||
      (needs_workspace && args->workspace == nullptr)) {
    return fail(WB_FAILED, "forward: a null pointer, or arguments of an older caller");
  }
  params.q = args->q;
  params.k = args->k;
  params.v = args->v;
  params.mask = args->mask;
  params.out = args->out;
  params.lse = p.want_lse ? args->lse : nullptr;
  return WB_OK;
}

// most_bytes: what the kernel's largest problem asks for, see ScalarLaunch.
template <class... Params>
int allow_shared(void (*kernel)(Params...), int most_bytes) {
  if (most_bytes <= k_shared_without_asking) return WB_OK;
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes);
  return error == cudaSuccess ? WB_OK : fail_cuda("setting the kernel's attributes", error);
}

template <class... Params>
int launch(void (*kernel)(Params...), int64_t blocks, int threads, int smem_bytes, void* stream,
           const Params&... params) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(blocks));
  config.blockDim = dim3(unsigned(threads));
  config.dynamicSmemBytes = size_t(smem_bytes);
  config.stream = static_cast<cudaStream_t>(stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, params...);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching the kernel", error);
}

}  // namespace wb::gpu
