// SPDX-License-Identifier: MIT
// Host side of kernels over scalar_rows.cuh: a call's pointers, shared memory, launches. Included
// by scalar_plan.cuh, and by sm80_tiled_flash and sm80_wide_heads, which have plans of their own.
#pragma once

#include "cuda/scalar_rows.cuh"

namespace wb::gpu {

using ScalarKernel = void (*)(ScalarParams);

// All that these kernels share is dynamic, so that one layout serves every size.
inline constexpr int k_shared_without_asking = 48 * 1024;

// Puts a call's pointers into the parameters; returns a status.
inline int take_arguments(ScalarParams& params, const wb_sdpa_problem& p, const wb_sdpa_args* args,
                          bool needs_workspace) {
  if (const int status = check_args(p, args); status != WB_OK) return status;
  if (needs_workspace && args->workspace == nullptr) {
    return fail(WB_FAILED, "forward: the workspace is missing");
  }
  params.q = args->q;
  params.k = args->k;
  params.v = args->v;
  params.mask = args->mask;
  params.out = args->out;
  params.lse = p.want_lse ? args->lse : nullptr;
  return WB_OK;
}

// most_bytes: what the kernel's largest problem asks for. The attribute is the kernel's, not the
// plan's: a smaller plan must not take from one made before.
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
  const cudaLaunchConfig_t config =
      launch_config(dim3(unsigned(blocks)), threads, smem_bytes, stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, params...);
  return error == cudaSuccess ? WB_OK : fail_cuda("launching the kernel", error);
}

}  // namespace wb::gpu
