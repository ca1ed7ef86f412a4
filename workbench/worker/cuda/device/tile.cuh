// SPDX-License-Identifier: MIT
// Tile: a product of two panels, 64 rows by 64 columns at a time, for oracle (double) and std
// (float). Every element adds its products in order of the depth, as gemm_add on the host; the
// including file's compile options decide about fused multiply-add.
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

}  // namespace wb::worker::cuda::device
