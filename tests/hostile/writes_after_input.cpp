// SPDX-License-Identifier: MIT
// Does its work and writes one element after V.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const std::int64_t v_elements = p.batch * p.heads_kv * p.seq_kv * p.dim_v;
  static_cast<float*>(const_cast<void*>(args.v))[v_elements] = 1;
  return hostile::honest(plan, args);
}
