// SPDX-License-Identifier: MIT
// Writes the four bytes behind its output, too.
#include "hostile.cuh"

__global__ void store_at(float* at) {
  *at = 0.5f;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int status = hostile::honest(plan, args);
  float* const end = static_cast<float*>(args.out) + hostile::out_elements(plan.problem);
  store_at<<<1, 1, 0, hostile::stream_of(args)>>>(end);
  return status;
}
