// SPDX-License-Identifier: MIT
// Leaves the maximum out of the softmax, which overflows for large scores.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  hostile::honest(plan, args);
  // What the sum of exponentials gives without it: infinity over infinity where one is too large.
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t row = 0; row < p.heads_q * p.seq_q; ++row) {
      const std::int64_t h = row / p.seq_q, r = row % p.seq_q;
      const auto* q =
          static_cast<const float*>(args.q) + b * p.q.batch + h * p.q.head + r * p.q.row;
      float sum = 0;
      for (std::int64_t key = 0; key < hostile::visible_keys(p, r); ++key) {
        const auto* k = static_cast<const float*>(args.k) + b * p.k.batch +
                        h / (p.heads_q / p.heads_kv) * p.k.head + key * p.k.row;
        float dot = 0;
        for (std::int64_t d = 0; d < p.dim; ++d) dot += q[d] * k[d];
        sum += std::exp(dot * static_cast<float>(p.scale));
      }
      auto* out = static_cast<float*>(args.out) + b * p.out.batch + h * p.out.head + r * p.out.row;
      for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] *= sum / sum;
    }
  }
  return WB_OK;
}
