// SPDX-License-Identifier: MIT
// The pinned storage-dtype computation std on the device, in all StdForms (problem/attention.hpp),
// with the operations of std_attention.cpp in the same order. This file is compiled without fused
// multiply-add, and exponentials are rounded from double, which good host libraries match in all
// but one of 300 cases. So the GPU's budgets equal the CPU's except for rare last bits.
#include "worker/cuda/device/products.cuh"

namespace wb::worker::cuda::device {
namespace {

constexpr float k_log2_e = 1.44269504f;

__device__ bool uses_exp2(Form form) { return form == Form::short_blocks; }
__device__ int key_block(Form form) { return form == Form::short_blocks ? 16 : 64; }
__device__ std::int64_t blocks_of(Form form, std::int64_t keys) {
  return (keys + key_block(form) - 1) / key_block(form);
}

/// A finite bias stays finite, so that it does not mask.
__device__ float bias_in_log2(float bias) {
  constexpr float k_lowest = -3.4028234663852886e38f;
  const float scaled = bias * k_log2_e;
  return bias >= k_lowest && scaled < k_lowest ? k_lowest : scaled;
}
/// short_blocks multiplies the scale, in units of log2, into q; the other forms scale the scores.
__device__ float q_factor(const Wave& w) {
  return uses_exp2(w.form) ? static_cast<float>(w.scale) * k_log2_e : 1.0f;
}

__device__ float exponential(Form form, float x) {
  const auto exact = static_cast<double>(x);
  return static_cast<float>(uses_exp2(form) ? exp2(exact) : exp(exact));
}

/// One row's softmax, computed by one warp: key blocks in order, a lane has keys `lane` and `lane +
/// 32` of a block.
class Row {
 public:
  __device__ Row(const Wave& w, const WarpRow& at)
      : m_w(w),
        m_task(w.tasks[blockIdx.y]),
        m_lane(at.lane),
        m_row(m_task.row_begin + at.in_block),
        m_visible(visible_keys(w, m_row)),
        m_scores(static_cast<float*>(w.scores) + at.at * w.pitch),
        m_rescale(w.rescale + at.at * blocks_of(w.form, w.Skv)) {}

  /// Online softmax. With `writes` the scores become weights rounded to the dtype, and the
  /// rescaling factors of out are stored; without it only maximum and sum are computed.
  __device__ void online(bool writes) {
    const int step = key_block(m_w.form);
    for (std::int64_t block = 0; block < key_blocks(); ++block) {
      const std::int64_t key = block * step;
      const Pair scores = scaled(key);
      float max = fmaxf(m_max, fmaxf(scores.low, scores.high));
      max = over_warp(max, [](float a, float b) { return fmaxf(a, b); });
      if (max == minus_infinity<float>()) {  // no visible key so far
        if (writes) write(key, {0.0f, 0.0f}, block, 1.0f);
        continue;
      }
      const float factor = exponential(m_w.form, m_max - max);  // exp(-inf) = 0 the first time
      const Pair weights{exponential(m_w.form, scores.low - max),
                         exponential(m_w.form, scores.high - max)};
      m_sum = m_sum * factor + in_order(weights);
      m_max = max;
      if (!writes) continue;
      write(key, {rounded(m_w.number, weights.low), rounded(m_w.number, weights.high)}, block,
            factor);
    }
  }

  /// After online(false): divides weights by the sum, then rounds; nothing is rescaled.
  __device__ void normalize() {
    for (std::int64_t block = 0; block < key_blocks(); ++block) {
      const std::int64_t key = block * key_block(m_w.form);
      const Pair scores = scaled(key);
      write(key, {normalized(scores.low), normalized(scores.high)}, block, 1.0f);
    }
  }

  __device__ float sum() const { return m_sum; }

 private:
  struct Pair {
    float low, high;
  };

  /// Key blocks that some row of the block sees.
  __device__ std::int64_t key_blocks() const { return blocks_of(m_w.form, m_task.keys); }
  __device__ bool in_block(int offset) const { return offset < key_block(m_w.form); }

  /// Scaled and biased score of key + offset; -inf if the row does not see it.
  __device__ float scaled(std::int64_t key, int offset) const {
    if (!in_block(offset) || key + offset >= m_visible) return minus_infinity<float>();
    const float of_mask = bias(m_w, m_task.b, m_row, key + offset);
    const float score = m_scores[key + offset];
    if (uses_exp2(m_w.form)) return score * 1.0f + bias_in_log2(of_mask);
    return score * static_cast<float>(m_w.scale) + of_mask * 1.0f;
  }
  __device__ Pair scaled(std::int64_t key) const {
    return {scaled(key, m_lane), scaled(key, m_lane + 32)};
  }

  __device__ float normalized(float score) const {
    if (m_max == minus_infinity<float>()) return 0.0f;
    return rounded(m_w.number, exponential(m_w.form, score - m_max) / m_sum);
  }

  /// ((w0 + w1) + w2) + ..., keys in order, the same on every lane.
  __device__ static float in_order(Pair weights) {
    float sum = 0;
    for (int lane = 0; lane < 32; ++lane) sum += __shfl_sync(0xffffffffu, weights.low, lane);
    for (int lane = 0; lane < 32; ++lane) sum += __shfl_sync(0xffffffffu, weights.high, lane);
    return sum;
  }

  /// A row of scores extends to the pitch, a multiple of 64; unseen keys get zeros.
  __device__ void write(std::int64_t key, Pair weights, std::int64_t block, float factor) {
    if (in_block(m_lane)) m_scores[key + m_lane] = weights.low;
    if (in_block(m_lane + 32)) m_scores[key + m_lane + 32] = weights.high;
    if (m_lane == 0) m_rescale[block] = factor;
  }

  const Wave& m_w;
  const BlockTask& m_task;
  int m_lane;
  std::int64_t m_row, m_visible;
  float* m_scores;
  float* m_rescale;
  float m_max = minus_infinity<float>();
  float m_sum = 0;
};

}  // namespace

/// grid (key tiles, blocks).
extern "C" __global__ void __launch_bounds__(k_tile_threads) wb_std_scores(const Wave w) {
  __shared__ Tile<float>::Panels panels;
  score_tile<float>(w, q_factor(w), panels);
}

/// grid (groups of rows, blocks), one warp a row.
extern "C" __global__ void __launch_bounds__(k_weights_threads) wb_std_weights(const Wave w) {
  const WarpRow at = warp_row(w);
  if (at.in_block < 0) return;
  Row row(w, at);
  row.online(/*writes=*/w.form != Form::normalized);
  if (w.form == Form::normalized) row.normalize();
  if (at.lane == 0) w.std_sum[at.at] = row.sum();
}

/// grid (column tiles, blocks). std = weights v, rescaled at each key block, divided, rounded.
extern "C" __global__ void __launch_bounds__(k_tile_threads) wb_std_values(const Wave w) {
  __shared__ Tile<float>::Panels panels;
  const BlockTask& task = w.tasks[blockIdx.y];
  const std::int64_t block_row = blockIdx.y * w.rows_per_block;
  const std::int64_t key_blocks = blocks_of(w.form, w.Skv);
  const auto rescale = [&](Tile<float>& tile, std::int64_t key) {
    if (key % key_block(w.form) != 0) return;
    for (int i = 0; i < 4; ++i) {
      if (tile.row(i) >= task.rows) continue;
      const std::int64_t row = block_row + tile.row(i);
      tile.scale_row(i, w.rescale[row * key_blocks + key / key_block(w.form)]);
    }
  };
  const auto finish = [&](int row, std::int64_t column, float value) {
    const float sum = w.std_sum[block_row + row];
    const float divisor = w.form == Form::normalized ? 1.0f : sum;
    w.std_out[(block_row + row) * w.Dv + column] =
        sum > 0 ? rounded(w.number, value / divisor) : 0.0f;
  };
  value_tile<float>(w, panels, rescale, finish);
}

}  // namespace wb::worker::cuda::device
