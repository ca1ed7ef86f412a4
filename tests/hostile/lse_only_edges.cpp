// SPDX-License-Identifier: MIT
// The other way round: wrong only where a log-sum-exp is asked for and scores are large.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  hostile::honest(plan, args);
  if (args.lse == nullptr) return WB_OK;
  const wb_sdpa_problem& p = plan.problem;
  for (std::int64_t i = 0; i < p.batch * p.heads_q * p.seq_q; ++i) {
    args.lse[i] = std::min(args.lse[i], 20.0f);
  }
  return WB_OK;
}
