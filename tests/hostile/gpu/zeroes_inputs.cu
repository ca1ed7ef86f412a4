// SPDX-License-Identifier: MIT
// Sets V to zero, so that a judge that used it would agree with a zero output.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const auto bytes = std::size_t(p.batch * p.heads_kv * p.seq_kv * p.dim_v) * sizeof(float);
  static_cast<void>(cudaMemsetAsync(const_cast<void*>(args.v), 0, bytes, hostile::stream_of(args)));
  return hostile::honest(plan, args);
}
