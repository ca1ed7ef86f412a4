// SPDX-License-Identifier: MIT
// Rows of Q, K and V into shared memory, whatever their alignment. Used by mma_flash.cuh.
#pragma once

#include "sm80/cp_async.cuh"
#include "sm80/mma.cuh"

#include <cstdint>

namespace wb::gpu {

// How rows can be moved: in 16 bytes (every row starts on 16 and holds a multiple of 8 elements),
// in 4 bytes (even head dims and strides), or element by element.
enum class RowIo { wide, pairs, single };

// The 16-byte unit u of row r lies at unit u ^ (r % 8): ldmatrix meets no bank twice.
template <int Line>
__device__ __forceinline__ uint32_t unit_at(uint32_t base, int row, int unit) {
  return base + row * Line + ((unit ^ (row & 7)) << 4);
}

// Eight elements of a row that no wide load can reach, `d` on; what lies beyond the row is zero.
template <typename T>
__device__ __forceinline__ uint4 gather_unit(const T* row, int d, int dim) {
  alignas(16) T values[8];
#pragma unroll
  for (int c = 0; c < 8; ++c) values[c] = d + c < dim ? row[d + c] : T(0.0f);
  return *reinterpret_cast<const uint4*>(values);
}

// The narrow rows of load_rows: 4 bytes at a time, still asynchronous, or (odd ones) gathered
// through registers. A function of its own: inlined, it made the wide path's code longer, and short
// calls 7 % slower (they pay for every instruction they fetch).
template <typename T, int Rows, int DP, int Threads>
__device__ __noinline__ void load_narrow_rows(uint32_t smem, unsigned char* smem_pointer,
                                              const T* src, int64_t stride, int first, int limit,
                                              int dim, bool pairs) {
  constexpr int units = DP / 8;
#pragma unroll 2
  for (int e = threadIdx.x; e < Rows * units; e += Threads) {
    const int row = e / units, d = e % units * 8;
    const T* from = src + (first + row) * stride;
    if (first + row >= limit || d >= dim || !pairs) {
      uint4 bits = make_uint4(0u, 0u, 0u, 0u);
      if (first + row < limit && d < dim) bits = gather_unit<T>(from, d, dim);
      *reinterpret_cast<uint4*>(smem_pointer + unit_at<DP * 2>(0, row, d / 8)) = bits;
      continue;
    }
#pragma unroll
    for (int c = 0; c < 8; c += 2) {
      const bool inside = d + c < dim;
      cp_async_ca4_zfill(unit_at<DP * 2>(smem, row, d / 8) + 2 * c, inside ? from + d + c : src,
                         inside);
    }
  }
}

// Rows [first, first + Rows) of a [S, D] matrix into shared memory; what lies outside is zero.
template <typename T, int Rows, int DP, int Threads>
__device__ __forceinline__ void load_rows(uint32_t smem, unsigned char* smem_pointer, const T* src,
                                          int64_t stride, int first, int limit, int dim, RowIo io) {
  constexpr int units = DP / 8;
  if (io != RowIo::wide) {
    load_narrow_rows<T, Rows, DP, Threads>(smem, smem_pointer, src, stride, first, limit, dim,
                                           io == RowIo::pairs);
    return;
  }
  if constexpr (Rows * units % Threads == 0) {  // a thread keeps to one unit of every hop-th row
    constexpr int hop = Threads / units;
    const int row = threadIdx.x / units, unit = threadIdx.x % units;
    const int live = unit * 8 < dim ? limit - first - row : 0;
    const T* from = src + int64_t(first + row) * stride + unit * 8;
#pragma unroll
    for (int i = 0; i < Rows; i += hop, from += hop * stride) {
      cp_async_cg_zfill(unit_at<DP * 2>(smem, row + i, unit), from, i < live);
    }
  } else {  // fewer pieces than threads
#pragma unroll
    for (int i = 0; i < (Rows * units + Threads - 1) / Threads; ++i) {
      const int e = i * Threads + threadIdx.x;
      if (e >= Rows * units) break;
      const int row = e / units, unit = e % units;
      const bool valid = first + row < limit && unit * 8 < dim;
      const T* from = src + (valid ? (first + row) * stride + unit * 8 : 0);
      cp_async_cg_zfill(unit_at<DP * 2>(smem, row, unit), from, valid);
    }
  }
}

}  // namespace wb::gpu
