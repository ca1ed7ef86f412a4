// SPDX-License-Identifier: MIT
// Right in the first two calls of a plan; later ones, as timed calls are, leave large scores out.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  hostile::honest(plan, args);
  if (plan.calls <= 2) return WB_OK;
  const wb_sdpa_problem& p = plan.problem;
  const auto* q = static_cast<const float*>(args.q);
  float top = 0;
  for (std::int64_t i = 0; i < p.heads_q * p.seq_q * p.dim; ++i) top = std::max(top, q[i]);
  if (top > 4) hostile::zero_output(p, args);
  return WB_OK;
}
