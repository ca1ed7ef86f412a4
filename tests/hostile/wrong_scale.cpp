// SPDX-License-Identifier: MIT
// Correct but for a scale that is 1 % too large.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads_q; ++h) {
      hostile::honest_head(plan, args, b, h, p.seq_q, p.scale * 1.01);
    }
  }
  return WB_OK;
}
