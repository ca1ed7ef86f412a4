// SPDX-License-Identifier: MIT
// One call of a CPU kernel: what it asked for when the plan was made, its tasks on the threads of
// the plan, where its tensors lie, which keys a row sees, and what becomes of a finished row.
// Indices: b batch, h query head, i query row, j key, d head dim. Tensors are addressed by strides.
#pragma once

#include <cstdint>

#include "arithmetic.hpp"
#include "formats.hpp"
#include "sdpa_abi.h"
#include "threads.hpp"

namespace wb_cpu {

/// What a kernel asks for when a plan is made.
struct Needs {
  std::int64_t scratch_floats = 0;  ///< per thread, from the workspace
  int max_threads = 1 << 10;
  std::int64_t shared_floats = 0;  ///< for all threads together, from the workspace
};

/// One call of wb_sdpa_forward.
struct Call {
  const wb_sdpa_problem& problem;
  const wb_sdpa_args& args;
  ThreadPool& pool;
  std::int64_t scratch_floats;

  /// Needs::shared_floats of the workspace: what one pass leaves for the next.
  [[nodiscard]] float* shared() const {
    return static_cast<float*>(args.workspace) + pool.size() * scratch_floats;
  }
  /// body(task, scratch) for every task, on args.threads threads; scratch is this thread's own.
  template <typename Body>
  void parallel(std::int64_t tasks, const Body& body) const {
    float* workspace = static_cast<float*>(args.workspace);
    pool.run(args.threads, tasks,
             [&](std::int64_t task, int slot) { body(task, workspace + slot * scratch_floats); });
  }
};

/// Element offset of [b, h, row, 0].
inline std::int64_t offset(const wb_strides& strides, std::int64_t b, std::int64_t h,
                           std::int64_t row) {
  return b * strides.batch + h * strides.head + row * strides.row;
}

inline std::int64_t kv_head(const wb_sdpa_problem& p, std::int64_t h) {
  return h / (p.heads_q / p.heads_kv);
}

/// Query row i sees keys [0, visible_keys) under the causal rule alone.
inline std::int64_t visible_keys(const wb_sdpa_problem& p, std::int64_t i) {
  if (p.causal == WB_CAUSAL_TOP_LEFT) return min(p.seq_kv, i + 1);
  if (p.causal == WB_CAUSAL_BOTTOM_RIGHT) {
    return clamp(i + 1 + p.seq_kv - p.seq_q, std::int64_t{0}, p.seq_kv);
  }
  return p.seq_kv;
}

/// scores[0..count) of keys [first_key, first_key + count): -inf where a bool mask says no, plus
/// the value of an additive mask (already in the scale of the scores).
inline void apply_mask(const Call& call, std::int64_t b, std::int64_t h, std::int64_t i,
                       std::int64_t first_key, std::int64_t count, float* scores) {
  const wb_sdpa_problem& p = call.problem;
  if (p.mask == WB_MASK_NONE) return;
  const std::int64_t at = offset(p.mask_strides, b, h, i) + first_key;
  if (p.mask == WB_MASK_BOOL) {
    const std::uint8_t* keep = static_cast<const std::uint8_t*>(call.args.mask) + at;
    for (std::int64_t j = 0; j < count; ++j) scores[j] = keep[j] ? scores[j] : k_minus_infinity;
    return;
  }
  float bias[64];
  for (std::int64_t j = 0; j < count; j += 64) {
    const std::int64_t n = min<std::int64_t>(64, count - j);
    load_row(call.args.mask, at + j, n, p.dtype, 1.0f, bias);
    for (std::int64_t t = 0; t < n; ++t) scores[j + t] += bias[t];
  }
}

/// Writes row i from its unnormalised sum `acc`, its maximum score and its sum of exponentials.
/// No key left: zeros and lse = -inf.
inline void finish_row(const Call& call, std::int64_t b, std::int64_t h, std::int64_t i,
                       const float* acc, float row_max, float row_sum) {
  const wb_sdpa_problem& p = call.problem;
  const bool empty = !(row_sum > 0.0f);
  store_row(call.args.out, offset(p.out, b, h, i), p.dim_v, p.dtype, empty ? 0.0f : 1.0f / row_sum,
            acc);
  if (call.args.lse != nullptr) {
    call.args.lse[(b * p.heads_q + h) * p.seq_q + i] =
        empty ? k_minus_infinity : row_max + __builtin_logf(row_sum);
  }
}

}  // namespace wb_cpu
