// SPDX-License-Identifier: MIT
// The oracle on the device: float64 throughout, the exact row maximum first, sums in a fixed order.
// Three kernels per wave: scores, weights (softmax), values. Fused multiply-add is allowed.
#include "worker/cuda/device/products.cuh"

namespace wb::worker::cuda::device {

/// grid (key tiles, blocks). scores = q k^T, unscaled.
extern "C" __global__ void __launch_bounds__(k_tile_threads) wb_oracle_scores(const Wave w) {
  __shared__ Tile<double>::Panels panels;
  score_tile<double>(w, 1.0, panels);
}

/// grid (groups of rows, blocks), one warp per row: scores become exp(score - max) in place, 0 for
/// keys that the row does not see. Writes the row's sum, LSE and sqrt(sum p^2) / sum.
extern "C" __global__ void __launch_bounds__(k_weights_threads) wb_oracle_weights(const Wave w) {
  const WarpRow at = warp_row(w);
  if (at.in_block < 0) return;
  const BlockTask& task = w.tasks[blockIdx.y];
  const std::int64_t row = task.row_begin + at.in_block;
  const std::int64_t visible = visible_keys(w, row);
  double* scores = static_cast<double*>(w.scores) + at.at * w.pitch;

  double max = minus_infinity<double>();
  for (std::int64_t key = at.lane; key < visible; key += 32) {
    scores[key] = scores[key] * w.scale + static_cast<double>(bias(w, task.b, row, key));
    max = fmax(max, scores[key]);
  }
  max = over_warp(max, [](double a, double b) { return fmax(a, b); });

  const bool sees_any = max != minus_infinity<double>();
  const std::int64_t room = (task.keys + k_tile - 1) / k_tile * k_tile;  // what values reads
  double sum = 0, sum_of_squares = 0;
  for (std::int64_t key = at.lane; key < room; key += 32) {
    const double weight = key < visible && sees_any ? exp(scores[key] - max) : 0.0;
    scores[key] = weight;
    sum += weight;
    sum_of_squares += weight * weight;
  }
  const auto add = [](double a, double b) { return a + b; };
  sum = over_warp(sum, add);
  sum_of_squares = over_warp(sum_of_squares, add);
  if (at.lane != 0) return;
  w.ref_sum[at.at] = sum;
  w.lse[at.at] = sum > 0 ? max + log(sum) : minus_infinity<double>();
  w.norm[at.at] = sum > 0 ? sqrt(sum_of_squares) / sum : 0.0;
}

/// grid (column tiles, blocks). ref = weights v / sum; a fully masked row is 0.
extern "C" __global__ void __launch_bounds__(k_tile_threads) wb_oracle_values(const Wave w) {
  __shared__ Tile<double>::Panels panels;
  const std::int64_t block_row = blockIdx.y * w.rows_per_block;
  const auto nothing = [](Tile<double>&, std::int64_t) {};
  const auto finish = [&](int row, std::int64_t column, double value) {
    const double sum = w.ref_sum[block_row + row];
    w.ref[(block_row + row) * w.Dv + column] = sum > 0 ? value / sum : 0.0;
  };
  value_tile<double>(w, panels, nothing, finish);
}

}  // namespace wb::worker::cuda::device
