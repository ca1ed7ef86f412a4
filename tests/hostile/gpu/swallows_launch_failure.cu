// SPDX-License-Identifier: MIT
// A launch beyond the limit of shared memory, and nobody looks at what became of it.
#include "hostile.cuh"

__global__ void needs_shared(float* out) {
  extern __shared__ float shared_by_the_block[];
  shared_by_the_block[threadIdx.x] = 1.0f;
  out[threadIdx.x] = shared_by_the_block[0];
}

constexpr int k_too_many_bytes = 300 * 1024;

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  needs_shared<<<1, 32, k_too_many_bytes, hostile::stream_of(args)>>>(
      static_cast<float*>(args.out));
  static_cast<void>(cudaGetLastError());
  return WB_OK;
}
