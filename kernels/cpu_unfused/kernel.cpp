// SPDX-License-Identifier: MIT
// cpu_unfused: attention as the formula is written, one (b, h) at a time.
//
// Worklog
//   idea      store all scores of a head, softmax each row in place, multiply by V
//   parent    none: this is the starting point that other kernels are measured against
//   costs     Sq * Skv floats written and read three times; a dot product per score whose sum is
//             kept in order, so the compiler cannot vectorise it
//   measured  no recorded session has it

#include "cpu/support.hpp"

namespace unfused {

using namespace wb_cpu;

/// At most 1 GiB of score matrices at a time, or one when a single matrix is larger.
Needs needs(const wb_sdpa_problem& p) {
  const std::int64_t floats = p.seq_q * p.seq_kv + p.seq_kv * (p.dim + p.dim_v) + p.dim + p.dim_v;
  const std::int64_t fit = (std::int64_t{1} << 28) / floats;
  return {floats, static_cast<int>(clamp<std::int64_t>(fit, 1, 1024))};
}

/// The head's part of the workspace: S [Sq, Skv], K [Skv, D], V [Skv, Dv], q [D], acc [Dv].
struct Head {
  std::int64_t b, h;
  float *scores, *k, *v, *q, *acc;
};

Head make_head(const wb_sdpa_problem& p, std::int64_t task, float* scratch) {
  Head head{task / p.heads_q, task % p.heads_q, scratch, nullptr, nullptr, nullptr, nullptr};
  head.k = head.scores + p.seq_q * p.seq_kv;
  head.v = head.k + p.seq_kv * p.dim;
  head.q = head.v + p.seq_kv * p.dim_v;
  head.acc = head.q + p.dim;
  return head;
}

void load_keys_and_values(const Call& call, const Head& head) {
  const wb_sdpa_problem& p = call.problem;
  const std::int64_t hkv = kv_head(p, head.h);
  for (std::int64_t j = 0; j < p.seq_kv; ++j) {
    load_row(call.args.k, offset(p.k, head.b, hkv, j), p.dim, p.dtype, 1.0f, head.k + j * p.dim);
    load_row(call.args.v, offset(p.v, head.b, hkv, j), p.dim_v, p.dtype, 1.0f,
             head.v + j * p.dim_v);
  }
}

/// q . k, summed in order within runs of 64: one chain over thousands of columns loses digits that
/// the log-sum-exp needs.
float dot_in_order(const float* q, const float* k, std::int64_t dim) {
  constexpr std::int64_t k_run = 64;
  float sum = 0;
  for (std::int64_t first = 0; first < dim; first += k_run) {
    float part = 0;
    for (std::int64_t d = first; d < min(first + k_run, dim); ++d) part += q[d] * k[d];
    sum += part;
  }
  return sum;
}

/// scores[i, j] = scale * q[i] . k[j] + mask[i, j], -inf where the causal rule hides the key.
void score(const Call& call, const Head& head) {
  const wb_sdpa_problem& p = call.problem;
  const float scale = static_cast<float>(p.scale);
  for (std::int64_t i = 0; i < p.seq_q; ++i) {
    float* row = head.scores + i * p.seq_kv;
    const std::int64_t visible = visible_keys(p, i);
    load_row(call.args.q, offset(p.q, head.b, head.h, i), p.dim, p.dtype, 1.0f, head.q);
    for (std::int64_t j = 0; j < visible; ++j) {
      row[j] = dot_in_order(head.q, head.k + j * p.dim, p.dim) * scale;
    }
    for (std::int64_t j = visible; j < p.seq_kv; ++j) row[j] = k_minus_infinity;
    apply_mask(call, head.b, head.h, i, 0, visible, row);
  }
}

/// Scores -> exp(score - row maximum), in place; returns the maximum.
float softmax_row(float* row, std::int64_t count) {
  float row_max = k_minus_infinity;
  for (std::int64_t j = 0; j < count; ++j) row_max = max(row_max, row[j]);
  const float shift = row_max == k_minus_infinity ? 0.0f : row_max;
  for (std::int64_t j = 0; j < count; ++j) row[j] = exp_nonpositive(row[j] - shift);
  return row_max;
}

void accumulate_row(const wb_sdpa_problem& p, const Head& head, const float* row) {
  fill(head.acc, p.dim_v, 0.0f);
  for (std::int64_t j = 0; j < p.seq_kv; ++j) {
    for (std::int64_t d = 0; d < p.dim_v; ++d) head.acc[d] += row[j] * head.v[j * p.dim_v + d];
  }
}

void forward(const Call& call) {
  const wb_sdpa_problem& p = call.problem;
  call.parallel(p.batch * p.heads_q, [&](std::int64_t task, float* scratch) {
    const Head head = make_head(p, task, scratch);
    load_keys_and_values(call, head);
    score(call, head);
    for (std::int64_t i = 0; i < p.seq_q; ++i) {
      float* row = head.scores + i * p.seq_kv;
      const float row_max = softmax_row(row, p.seq_kv);
      float row_sum = 0;
      for (std::int64_t j = 0; j < p.seq_kv; ++j) row_sum += row[j];
      accumulate_row(p, head, row);
      finish_row(call, head.b, head.h, i, head.acc, row_max, row_sum);
    }
  });
}

}  // namespace unfused

WB_CPU_KERNEL(unfused::needs, unfused::forward)
