// SPDX-License-Identifier: MIT
// Reads the four bytes behind K, and makes nothing of them.
#include "hostile.cuh"

__global__ void look_at(const volatile float* at) {
  static_cast<void>(*at);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const float* const end =
      static_cast<const float*>(args.k) + p.batch * p.heads_kv * p.seq_kv * p.dim;
  look_at<<<1, 1, 0, hostile::stream_of(args)>>>(end);
  return hostile::honest(plan, args);
}
