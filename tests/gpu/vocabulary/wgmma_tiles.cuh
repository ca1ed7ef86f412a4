// SPDX-License-Identifier: MIT
// Operands of wgmma in shared memory as the tests put them there, by ordinary stores and index
// formulas of their own, and the products on the CPU. What is no operand is no number, so that a
// product which reads it shows. Whole numbers: sums are exact. Used by wgmma_scores.cu and
// wgmma_outputs.cu.
#pragma once

#include "gpu/vocabulary/vocabulary.cuh"
#include "sm90/warpgroup.cuh"
#include "sm90/wgmma.cuh"

namespace wb::testing::vocabulary {

inline constexpr int k_range = 6;  // of operands: 256 products of 36 stay exact in f32

inline __host__ __device__ constexpr int slabs_of(int columns) {
  return (columns + 63) / 64;
}
inline __host__ __device__ constexpr int tile_bytes(int rows, int columns) {
  return slabs_of(columns) * rows * 128;
}

// A matrix of 16-bit elements, row by row, into slabs of 64 columns with the 128-byte swizzle.
__device__ inline void put_tile(unsigned char* tile, const uint16_t* from, int rows, int columns) {
  uint16_t* to = reinterpret_cast<uint16_t*>(tile);
  for (int e = threadIdx.x; e < rows * slabs_of(columns) * 64; e += blockDim.x) {
    const int row = e / (slabs_of(columns) * 64), column = e % (slabs_of(columns) * 64);
    const int slab = column / 64, unit = column % 64 / 8;
    to[slab * rows * 64 + row * 64 + ((unit ^ (row & 7)) * 8) + column % 8] =
        column < columns ? from[row * columns + column] : uint16_t(0x7fff);
  }
}

// The accumulators of a warpgroup, 64 rows of 8 N columns, row by row.
template <int N>
__device__ void take_out(float* out, const float (&d)[N][4]) {
  const int thread = threadIdx.x % 128, row = thread / 32 * 16 + thread % 32 / 4;
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      out[(row + c / 2 * 8) * (8 * N) + 8 * n + 2 * (thread % 4) + c % 2] = d[n][c];
    }
  }
}

// What the accumulators hold before a product is added to them.
__host__ __device__ inline float start_value(int row, int column) {
  return float(row * 3 - column * 7);
}

template <int N>
__device__ void put_start_values(float (&d)[N][4]) {
  const int thread = threadIdx.x % 128, row = thread / 32 * 16 + thread % 32 / 4;
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      d[n][c] = start_value(row + c / 2 * 8, 8 * n + 2 * (thread % 4) + c % 2);
    }
  }
}

// A matrix of whole numbers, and its bits as T.
template <typename T>
struct Whole {
  int rows, columns;
  std::vector<float> values;
  Whole(int rows_, int columns_, uint32_t seed)
      : rows(rows_), columns(columns_), values(std::size_t(rows_) * columns_) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = number_of(uint32_t(i) + seed * 1000003u, k_range);
    }
  }
  float at(int row, int column) const { return values[std::size_t(row) * columns + column]; }
  std::vector<uint16_t> bits() const {
    std::vector<uint16_t> b(values.size());
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = bits_of<T>(values[i]);
    return b;
  }
};

}  // namespace wb::testing::vocabulary
