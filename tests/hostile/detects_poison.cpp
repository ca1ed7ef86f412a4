// SPDX-License-Identifier: MIT
// Works only when its output is not what it left there last.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  static float left = NAN;
  auto* out = static_cast<float*>(args.out);
  float& last = out[hostile::out_elements(p) - 1];
  if (last == left) {
    // Slow enough to look like a good kernel and not like an impossible one.
    hostile::honest_head(plan, args, 0, 0, p.seq_q / 3, p.scale);
    return WB_OK;
  }
  hostile::honest(plan, args);
  left = last;
  return WB_OK;
}
