// SPDX-License-Identifier: MIT
// Gives zeros for causal rules and odd sizes where no log-sum-exp is asked for.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const bool is_edge = p.causal != WB_CAUSAL_NONE || p.seq_q % 8 != 0 || p.seq_kv % 8 != 0;
  if (args.lse != nullptr || !is_edge) return hostile::honest(plan, args);
  hostile::zero_output(p, args);
  return WB_OK;
}
