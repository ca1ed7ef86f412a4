// SPDX-License-Identifier: MIT
// A kernel that waits for what never comes.
#include "hostile.cuh"

__global__ void wait_for(const volatile float* value) {
  while (*value != 12345.0f) {
  }
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  wait_for<<<1, 1, 0, hostile::stream_of(args)>>>(static_cast<const float*>(args.out));
  return hostile::launched();
}
