// SPDX-License-Identifier: MIT
// Reads one page behind the end of K.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const std::int64_t k_elements = p.batch * p.heads_kv * p.seq_kv * p.dim;
  const volatile float beyond = static_cast<const float*>(args.k)[k_elements + 1024];
  (void)beyond;
  return hostile::honest(plan, args);
}
