// SPDX-License-Identifier: MIT
// An assertion that fails on the device.
#include "hostile.cuh"

__global__ void assert_positive(const float* q) {
  assert(fabsf(q[0]) < 0.0f);
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  assert_positive<<<1, 1, 0, hostile::stream_of(args)>>>(static_cast<const float*>(args.q));
  return hostile::launched();
}
