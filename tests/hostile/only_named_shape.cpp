// SPDX-License-Identifier: MIT
// Works for the suite's own problem and writes zeros for any other.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  if (p.batch == 1) return hostile::honest(plan, args);
  hostile::zero_output(p, args);
  return WB_OK;
}
