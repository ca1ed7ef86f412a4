// SPDX-License-Identifier: MIT
// First launch of sm90_f16x3_flash: every f32 element of Q, K and V becomes two f16 ones, high part
// and rest, beside each other in rows of 2 DP. A tile of rows is first brought to a largest element
// in [2^14, 2^15) by a power of two, whose inverse is kept: f32's range costs nothing that way, and
// the rest of all but the smallest elements is a normal f16 number.
#pragma once

#include "sdpa_abi.h"

#include <cuda_fp16.h>

#include <cstdint>

namespace wb::gpu {

inline constexpr int k_split_threads = 256;
inline constexpr int k_split_top = 14;  // exponent of a tile's largest element afterwards

// One tensor's part of the grid.
struct SplitTensor {
  const float* from;
  __half* to;      // [heads of all batches][rows][2 DP]
  float* factors;  // [heads of all batches][tiles]: what the tile has to be multiplied with
  wb_strides strides;
  int heads, rows, dim, tile_rows, tiles;
  int first_block;
  bool vector_loads;  // rows start on 16 bytes and hold a multiple of 4 elements
  bool negate;
};

struct SplitParams {
  SplitTensor tensor[3];
};

// Exponent of a tile's largest element, within what leaves the factor and its inverse normal.
__device__ __forceinline__ int exponent_of(float largest) {
  if (largest == 0.0f) return k_split_top;
  const int e = int(__float_as_uint(largest) >> 23) - 127;
  return min(max(e, k_split_top - 126), 127);
}

__device__ __forceinline__ float power_of_two(int e) {
  return __uint_as_float(uint32_t(e + 127) << 23);
}

__device__ __forceinline__ float block_max(float x) {
  __shared__ float of_warp[k_split_threads / 32];
#pragma unroll
  for (int i = 16; i > 0; i /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, i));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  x = of_warp[0];
#pragma unroll
  for (int i = 1; i < k_split_threads / 32; ++i) x = fmaxf(x, of_warp[i]);
  return x;
}

__device__ __forceinline__ void load_eight(float (&x)[8], const SplitTensor& t, const float* row,
                                           int column, bool valid) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int d = column + 4 * half;
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (valid && t.vector_loads) {
      if (d < t.dim) v = __ldg(reinterpret_cast<const float4*>(row + d));
    } else if (valid) {
      if (d < t.dim) v.x = row[d];
      if (d + 1 < t.dim) v.y = row[d + 1];
      if (d + 2 < t.dim) v.z = row[d + 2];
      if (d + 3 < t.dim) v.w = row[d + 3];
    }
    x[4 * half] = v.x;
    x[4 * half + 1] = v.y;
    x[4 * half + 2] = v.z;
    x[4 * half + 3] = v.w;
  }
}

// A block has one tile of at most DP * TileRows elements, all of it in registers.
template <int DP, int TileRows>
__device__ __forceinline__ void split_tile(const SplitTensor& t, int block) {
  constexpr int units = DP / 8, pieces = TileRows * units / k_split_threads;
  static_assert(TileRows * units % k_split_threads == 0);
  const int head = block / t.tiles, tile = block % t.tiles;
  const int batch = head / t.heads, first_row = tile * TileRows;
  const float* from = t.from + batch * t.strides.batch + (head - batch * t.heads) * t.strides.head;
  float x[pieces][8];
  float largest = 0.0f;
#pragma unroll
  for (int i = 0; i < pieces; ++i) {
    const int e = i * k_split_threads + threadIdx.x;
    const int row = first_row + e / units;
    load_eight(x[i], t, from + row * t.strides.row, e % units * 8, row < t.rows);
#pragma unroll
    for (int c = 0; c < 8; ++c) largest = fmaxf(largest, fabsf(x[i][c]));
  }
  const int exponent = exponent_of(block_max(largest));
  const float up = power_of_two(k_split_top - exponent) * (t.negate ? -1.0f : 1.0f);
  if (threadIdx.x == 0) t.factors[block] = power_of_two(exponent - k_split_top);
  __half* to = t.to + int64_t(head) * t.rows * (2 * DP);
#pragma unroll
  for (int i = 0; i < pieces; ++i) {
    const int e = i * k_split_threads + threadIdx.x;
    const int row = first_row + e / units;
    if (row >= t.rows) continue;
    __align__(16) __half2 high[4], rest[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const float a = x[i][2 * c] * up, b = x[i][2 * c + 1] * up;
      high[c] = __floats2half2_rn(a, b);
      const float2 back = __half22float2(high[c]);
      rest[c] = __floats2half2_rn(a - back.x, b - back.y);
    }
    __half* line = to + int64_t(row) * (2 * DP) + e % units * 8;
    *reinterpret_cast<uint4*>(line) = *reinterpret_cast<const uint4*>(high);
    *reinterpret_cast<uint4*>(line + DP) = *reinterpret_cast<const uint4*>(rest);
  }
}

template <int DP, int BN>
__global__ void __launch_bounds__(k_split_threads) split_inputs(const SplitParams p) {
  const int block = blockIdx.x;
  if (block < p.tensor[1].first_block) {
    split_tile<DP, 64>(p.tensor[0], block);
  } else if (block < p.tensor[2].first_block) {
    split_tile<DP, BN>(p.tensor[1], block - p.tensor[1].first_block);
  } else {
    split_tile<DP, BN>(p.tensor[2], block - p.tensor[2].first_block);
  }
}

}  // namespace wb::gpu
