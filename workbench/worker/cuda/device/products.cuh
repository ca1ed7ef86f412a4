// SPDX-License-Identifier: MIT
// The two products of attention over a wave of row blocks, shared by oracle (double) and std
// (float): scores = q k^T into the scratch memory, and out = P v from the softmax kernel's weights.
// Both are made of Tile, a product of two panels, 64 rows by 64 columns at a time. Every element
// adds its products in order of the depth, as gemm_add on the host; the including file's compile
// options decide about fused multiply-add.
#pragma once

#include "worker/cuda/device/numbers.cuh"

namespace wb::worker::cuda::device {

constexpr int k_depth = 16;  // depth of the panels in shared memory

/// 256 threads as 16 x 16; each owns 4 x 4 elements of the tile. A thread's columns are 16
/// contiguous bytes, so that neighboring threads read neighboring 16 bytes without bank conflicts.
template <typename T>
class Tile {
 public:
  static constexpr int k_vector = 16 / sizeof(T);
  static constexpr int k_pitch = k_tile + k_vector;  // keeps rows 16-byte aligned and spreads banks

  struct __align__(16) Panels {
    T a[k_depth][k_pitch];  ///< [depth][row]
    T b[k_depth][k_pitch];  ///< [depth][column]
  };

  __device__ explicit Tile(Panels& panels) : m_panels(panels) {}

  /// Rows of the tile that this thread owns: i in [0, 4).
  __device__ static int row(int i) { return static_cast<int>(threadIdx.x) / 16 * 4 + i; }
  __device__ static int column(int j) {
    return j / k_vector * (16 * k_vector) + static_cast<int>(threadIdx.x) % 16 * k_vector +
           j % k_vector;
  }

  __device__ T get(int i, int j) const { return m_sums[i][j]; }
  __device__ void scale_row(int i, T factor) {
    for (T& sum : m_sums[i]) sum *= factor;
  }

  /// Adds k_depth steps. `a(row, d)` and `b(column, d)` give the panels' elements, d in [0, 16).
  /// Rows of both are contiguous along the depth, so that neighboring threads take neighboring d.
  template <typename A, typename B>
  __device__ void add_rows_by_rows(const A& a, const B& b) {
    __syncthreads();  // the last step's readers are done
    const int d = static_cast<int>(threadIdx.x) % k_depth;
    for (int i = static_cast<int>(threadIdx.x) / k_depth; i < k_tile; i += 16) {
      m_panels.a[d][i] = a(i, d);
      m_panels.b[d][i] = b(i, d);
    }
    multiply();
  }

  /// The same, for rows of b that are contiguous along the columns.
  template <typename A, typename B>
  __device__ void add_rows_by_columns(const A& a, const B& b) {
    __syncthreads();
    const int d = static_cast<int>(threadIdx.x) % k_depth;
    for (int i = static_cast<int>(threadIdx.x) / k_depth; i < k_tile; i += 16) {
      m_panels.a[d][i] = a(i, d);
    }
    const int column = static_cast<int>(threadIdx.x) % k_tile;
    for (int i = static_cast<int>(threadIdx.x) / k_tile; i < k_depth; i += 4) {
      m_panels.b[i][column] = b(column, i);
    }
    multiply();
  }

 private:
  __device__ void multiply() {
    __syncthreads();  // the panels are written
#pragma unroll
    for (int d = 0; d < k_depth; ++d) {
      T a[4], b[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = m_panels.a[d][row(i)];
#pragma unroll
      for (int j = 0; j < 4; ++j) b[j] = m_panels.b[d][column(j)];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) m_sums[i][j] += a[i] * b[j];
      }
    }
  }

  Panels& m_panels;
  T m_sums[4][4] = {};
};

/// Offset of (b, head, row 0) in a tensor.
__device__ inline std::int64_t head_offset(const Strides& strides, std::int64_t b,
                                           std::int64_t head) {
  return b * strides.batch + head * strides.head;
}

/// One tile of scores: rows of block blockIdx.y, keys from 64 blockIdx.x on. q is first multiplied
/// by `q_factor` in T. Rows beyond the block and keys beyond Skv are computed from zeros; the pitch
/// has room for such keys, such rows are not written.
template <typename T>
__device__ void score_tile(const Wave& w, T q_factor, typename Tile<T>::Panels& panels) {
  const BlockTask& task = w.tasks[blockIdx.y];
  const std::int64_t key_begin = std::int64_t{blockIdx.x} * k_tile;
  if (key_begin >= task.keys) return;  // the whole thread block: no row sees these keys
  const std::int64_t q_at = head_offset(w.q_strides, task.b, task.h);
  const std::int64_t k_at = head_offset(w.k_strides, task.b, task.h / (w.Hq / w.Hkv));
  Tile<T> tile(panels);
  for (std::int64_t begin = 0; begin < w.D; begin += k_depth) {
    const auto q = [&](int i, int d) -> T {
      if (i >= task.rows || begin + d >= w.D) return 0;
      const std::int64_t row = task.row_begin + i;
      return q_factor * static_cast<T>(load(w.number, w.q, q_at + row * w.q_strides.row + begin + d));
    };
    const auto k = [&](int j, int d) -> T {
      if (key_begin + j >= w.Skv || begin + d >= w.D) return 0;
      const std::int64_t key = key_begin + j;
      return load(w.number, w.k, k_at + key * w.k_strides.row + begin + d);
    };
    tile.add_rows_by_rows(q, k);
  }
  T* scores = static_cast<T*>(w.scores) + blockIdx.y * w.rows_per_block * w.pitch + key_begin;
  for (int i = 0; i < 4; ++i) {
    if (tile.row(i) >= task.rows) continue;
    for (int j = 0; j < 4; ++j) scores[tile.row(i) * w.pitch + tile.column(j)] = tile.get(i, j);
  }
}

/// One tile of P v: rows of block blockIdx.y, columns of v from 64 blockIdx.x on. `before(tile,
/// key)` runs before each 16 keys (std rescales there); `finish(row, column, sum)` takes the sums.
template <typename T, typename Before, typename Finish>
__device__ void value_tile(const Wave& w, typename Tile<T>::Panels& panels, const Before& before,
                           const Finish& finish) {
  const BlockTask& task = w.tasks[blockIdx.y];
  const std::int64_t column_begin = std::int64_t{blockIdx.x} * k_tile;
  const std::int64_t v_at = head_offset(w.v_strides, task.b, task.h / (w.Hq / w.Hkv));
  const T* weights = static_cast<const T*>(w.scores) + blockIdx.y * w.rows_per_block * w.pitch;
  Tile<T> tile(panels);
  for (std::int64_t key = 0; key < task.keys; key += k_depth) {
    before(tile, key);
    // Weights exist up to the pitch and are 0 beyond what a row sees.
    const auto p = [&](int i, int d) -> T {
      return i < task.rows ? weights[i * w.pitch + key + d] : T{0};
    };
    const auto v = [&](int j, int d) -> T {
      if (key + d >= w.Skv || column_begin + j >= w.Dv) return 0;
      return load(w.number, w.v, v_at + (key + d) * w.v_strides.row + column_begin + j);
    };
    tile.add_rows_by_columns(p, v);
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const std::int64_t column = column_begin + tile.column(j);
      if (tile.row(i) < task.rows && column < w.Dv) finish(tile.row(i), column, tile.get(i, j));
    }
  }
}

/// The row of this warp in block blockIdx.y, or -1; and its index in the scratch arrays.
struct WarpRow {
  std::int64_t in_block, at;
  int lane;
};
__device__ inline WarpRow warp_row(const Wave& w) {
  const int warp = static_cast<int>(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
  const bool is_row = warp < w.tasks[blockIdx.y].rows;
  return {is_row ? warp : -1, blockIdx.y * w.rows_per_block + warp,
          static_cast<int>(threadIdx.x % 32)};
}

/// `combine` over the 32 lanes in a fixed order; every lane gets the result.
template <typename T, typename Combine>
__device__ T over_warp(T value, const Combine& combine) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

}  // namespace wb::worker::cuda::device
