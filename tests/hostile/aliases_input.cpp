// SPDX-License-Identifier: MIT
// Leaves its result in Q and not in the output.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  wb_sdpa_args own = args;
  std::vector<float> result(static_cast<std::size_t>(hostile::out_elements(plan.problem)));
  own.out = result.data();
  hostile::honest(plan, own);
  const auto room = plan.problem.batch * plan.problem.heads_q * plan.problem.seq_q *
                    std::min(plan.problem.dim, plan.problem.dim_v);
  std::copy_n(result.data(), room, static_cast<float*>(const_cast<void*>(args.q)));
  return WB_OK;
}
