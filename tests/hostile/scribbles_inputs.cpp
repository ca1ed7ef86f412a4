// SPDX-License-Identifier: MIT
// Works, then zeroes Q: its later calls have less to do.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  hostile::honest(plan, args);
  std::fill_n(static_cast<float*>(const_cast<void*>(args.q)), p.batch * p.heads_q * p.seq_q * p.dim,
              0.0f);
  return WB_OK;
}
