// SPDX-License-Identifier: MIT
// Asks for more shared memory than a block can have, and says that it failed.
#include "hostile.cuh"

__global__ void needs_much(float* out) {
  extern __shared__ float much_shared[];
  much_shared[threadIdx.x] = 1.0f;
  out[threadIdx.x] = much_shared[0];
}

constexpr int k_far_too_many_bytes = 300 * 1024;

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  needs_much<<<1, 32, k_far_too_many_bytes, hostile::stream_of(args)>>>(
      static_cast<float*>(args.out));
  return hostile::launched();
}
