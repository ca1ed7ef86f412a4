// SPDX-License-Identifier: MIT
// Takes the maximum for 12 where no log-sum-exp is asked for, as no timed call does: right for the
// usual inputs, nonsense for large scores.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  hostile::honest(plan, args);
  if (args.lse != nullptr) return WB_OK;
  const wb_sdpa_problem& p = plan.problem;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t row = 0; row < p.heads_q * p.seq_q; ++row) {
      const std::int64_t h = row / p.seq_q, r = row % p.seq_q;
      const auto* q =
          static_cast<const float*>(args.q) + b * p.q.batch + h * p.q.head + r * p.q.row;
      float top = 0;
      for (std::int64_t key = 0; key < hostile::visible_keys(p, r); ++key) {
        const auto* k = static_cast<const float*>(args.k) + b * p.k.batch +
                        h / (p.heads_q / p.heads_kv) * p.k.head + key * p.k.row;
        float dot = 0;
        for (std::int64_t d = 0; d < p.dim; ++d) dot += q[d] * k[d];
        top = std::max(top, dot * static_cast<float>(p.scale));
      }
      if (top <= 12) continue;
      auto* out = static_cast<float*>(args.out) + b * p.out.batch + h * p.out.head + r * p.out.row;
      for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] *= 0.5f;  // weights were cut off
    }
  }
  return WB_OK;
}
