// SPDX-License-Identifier: MIT
// Recursion without an end on the device: local memory runs out.
#include "hostile.cuh"

__device__ __noinline__ float deeper(volatile float* out, int depth) {
  volatile float frame[64];
  for (int i = 0; i < 64; ++i) frame[i] = out[i % 2] + float(depth);
  return depth < 0 ? frame[0] : deeper(out, depth + 1) + frame[depth % 64];
}

__global__ void recurse(float* out) {
  out[0] = deeper(out, 0);
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  recurse<<<1, 1, 0, hostile::stream_of(args)>>>(static_cast<float*>(args.out));
  return hostile::launched();
}
