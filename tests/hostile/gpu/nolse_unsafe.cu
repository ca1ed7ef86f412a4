// SPDX-License-Identifier: MIT
// Without a log-sum-exp it leaves the running maximum out: right for small scores only.
#include "hostile.cuh"

__global__ void without_maximum(wb_sdpa_problem p, wb_sdpa_args a) {
  const std::int64_t number = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (number >= p.batch * p.heads_q * p.seq_q) return;
  const std::int64_t row = number % p.seq_q, h = number / p.seq_q % p.heads_q,
                     b = number / p.seq_q / p.heads_q, g = h / (p.heads_q / p.heads_kv);
  const auto* q = static_cast<const float*>(a.q) + b * p.q.batch + h * p.q.head + row * p.q.row;
  const auto* k = static_cast<const float*>(a.k) + b * p.k.batch + g * p.k.head;
  const auto* v = static_cast<const float*>(a.v) + b * p.v.batch + g * p.v.head;
  auto* out = static_cast<float*>(a.out) + b * p.out.batch + h * p.out.head + row * p.out.row;
  const std::int64_t keys =
      p.causal == WB_CAUSAL_TOP_LEFT && row + 1 < p.seq_kv ? row + 1 : p.seq_kv;
  float sum = 0;
  for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] = 0;
  for (std::int64_t key = 0; key < keys; ++key) {
    float score = 0;
    for (std::int64_t d = 0; d < p.dim; ++d) score += q[d] * k[key * p.k.row + d];
    const float weight = expf(score * static_cast<float>(p.scale));
    sum += weight;
    for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] += weight * v[key * p.v.row + d];
  }
  for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] /= sum;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (args.lse != nullptr) return hostile::honest(plan, args);
  const wb_sdpa_problem& p = plan.problem;
  const std::int64_t rows = p.batch * p.heads_q * p.seq_q;
  without_maximum<<<unsigned((rows + 63) / 64), 64, 0, hostile::stream_of(args)>>>(p, args);
  return hostile::launched();
}
