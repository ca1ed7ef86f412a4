// SPDX-License-Identifier: MIT
// cpu_online: one query row at a time; running maximum and sum instead of a stored score matrix.
//
// Worklog
//   idea      K and V are read once per query row, scores live in one small buffer
//   parent    cpu_unfused
//   changed   online softmax over chunks of 64 keys; dot products in vector lanes
//   costs     every query row reads and converts all of K and V again
//   measured  no recorded session has it

#include "cpu/support.hpp"

namespace online {

using namespace wb_cpu;

constexpr std::int64_t k_chunk = 64;  // keys per step: their scores stay in the first-level cache

Needs needs(const wb_sdpa_problem& p) {
  return {p.dim * 2 + p.dim_v * 2 + k_chunk, 1024};
}

/// State of one row: acc is scaled by exp(-row_max).
struct Row {
  std::int64_t b, h, i;
  float *q, *key, *value, *acc, *scores;
  float row_max = k_minus_infinity, row_sum = 0;
};

Row load_query(const Call& call, std::int64_t task, float* scratch) {
  const wb_sdpa_problem& p = call.problem;
  const std::int64_t head = task / p.seq_q;  // b * Hq + h
  Row row{};
  row.b = head / p.heads_q;
  row.h = head % p.heads_q;
  row.i = task % p.seq_q;
  row.row_max = k_minus_infinity;
  row.q = scratch;
  row.key = row.q + p.dim;
  row.value = row.key + p.dim;
  row.acc = row.value + p.dim_v;
  row.scores = row.acc + p.dim_v;
  load_row(call.args.q, offset(p.q, row.b, row.h, row.i), p.dim, p.dtype,
           static_cast<float>(p.scale), row.q);
  fill(row.acc, p.dim_v, 0.0f);
  return row;
}

/// scores[t] of keys first + t; returns their maximum.
float score(const Call& call, const Row& row, std::int64_t first, std::int64_t count) {
  const wb_sdpa_problem& p = call.problem;
  const std::int64_t hkv = kv_head(p, row.h);
  for (std::int64_t t = 0; t < count; ++t) {
    load_row(call.args.k, offset(p.k, row.b, hkv, first + t), p.dim, p.dtype, 1.0f, row.key);
    row.scores[t] = dot(row.q, row.key, p.dim);
  }
  apply_mask(call, row.b, row.h, row.i, first, count, row.scores);
  float largest = row.scores[0];
  for (std::int64_t t = 1; t < count; ++t) largest = max(largest, row.scores[t]);
  return largest;
}

/// Moves acc and row_sum to the new maximum, then turns the scores into weights.
void softmax(const wb_sdpa_problem& p, Row& row, std::int64_t count, float chunk_max) {
  const float new_max = max(row.row_max, chunk_max);
  if (new_max > row.row_max) {
    const float correction = exp_nonpositive(row.row_max - new_max);
    for (std::int64_t d = 0; d < p.dim_v; ++d) row.acc[d] *= correction;
    row.row_sum *= correction;
    row.row_max = new_max;
  }
  for (std::int64_t t = 0; t < count; ++t) {
    row.scores[t] = exp_nonpositive(row.scores[t] - new_max);
    row.row_sum += row.scores[t];
  }
}

void accumulate(const Call& call, const Row& row, std::int64_t first, std::int64_t count) {
  const wb_sdpa_problem& p = call.problem;
  const std::int64_t hkv = kv_head(p, row.h);
  for (std::int64_t t = 0; t < count; ++t) {
    load_row(call.args.v, offset(p.v, row.b, hkv, first + t), p.dim_v, p.dtype, row.scores[t],
             row.value);
    for (std::int64_t d = 0; d < p.dim_v; ++d) row.acc[d] += row.value[d];
  }
}

void forward(const Call& call) {
  const wb_sdpa_problem& p = call.problem;
  call.parallel(p.batch * p.heads_q * p.seq_q, [&](std::int64_t task, float* scratch) {
    Row row = load_query(call, task, scratch);
    const std::int64_t visible = visible_keys(p, row.i);
    for (std::int64_t first = 0; first < visible; first += k_chunk) {
      const std::int64_t count = min(k_chunk, visible - first);
      const float chunk_max = score(call, row, first, count);
      if (chunk_max == k_minus_infinity) continue;  // all masked; inf - inf would be NaN
      softmax(p, row, count, chunk_max);
      accumulate(call, row, first, count);
    }
    finish_row(call, row.b, row.h, row.i, row.acc, row.row_max, row.row_sum);
  });
}

}  // namespace online

WB_CPU_KERNEL(online::needs, online::forward)
