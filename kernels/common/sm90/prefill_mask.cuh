// SPDX-License-Identifier: MIT
// Masks of the prefill kernels. They want an additive mask of 16-bit elements that TMA can read;
// expand_mask makes one in the workspace from what it cannot (booleans, odd
// strides, one row for all queries). add_mask adds a tile of it to a warpgroup's scores.
#pragma once

#include "sdpa_abi.h"
#include "sm80/mma.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

namespace wb::gpu {

inline constexpr int k_expand_threads = 256;

struct ExpandParams {
  const void* from;
  void* to;  // [batches][heads][rows][pitch]
  wb_strides strides;
  int batches, heads, rows, keys, pitch;  // pitch: keys up to a multiple of 8
  bool boolean;
  bool vector_loads;  // eight elements start on a multiple of their bytes
};

template <typename T>
__device__ __forceinline__ T not_kept() {
  return T(-INFINITY);
}

// A thread makes eight elements.
template <typename T>
__global__ void __launch_bounds__(k_expand_threads) expand_mask(const ExpandParams p) {
  const int units = p.pitch / 8;
  const int64_t all = int64_t(p.batches) * p.heads * p.rows * units;
  for (int64_t i = int64_t(blockIdx.x) * k_expand_threads + threadIdx.x; i < all;
       i += int64_t(gridDim.x) * k_expand_threads) {
    const int key = int(i % units) * 8;
    const int64_t line = i / units;
    const int row = int(line % p.rows), head = int(line / p.rows % p.heads);
    const int64_t batch = line / p.rows / p.heads;
    const int64_t at = batch * p.strides.batch + head * p.strides.head + row * p.strides.row + key;
    __align__(16) T made[8];
    if (p.boolean) {
      const uint8_t* from = static_cast<const uint8_t*>(p.from) + at;
      __align__(8) uint8_t keep[8];
      if (p.vector_loads) {
        *reinterpret_cast<uint2*>(keep) = *reinterpret_cast<const uint2*>(from);
      } else {
#pragma unroll
        for (int c = 0; c < 8; ++c) keep[c] = key + c < p.keys ? from[c] : uint8_t(0);
      }
#pragma unroll
      for (int c = 0; c < 8; ++c) made[c] = keep[c] != 0 ? T(0.0f) : not_kept<T>();
    } else {
      const T* from = static_cast<const T*>(p.from) + at;
#pragma unroll
      for (int c = 0; c < 8; ++c) made[c] = key + c < p.keys ? from[c] : T(0.0f);
    }
    *reinterpret_cast<uint4*>(static_cast<T*>(p.to) + line * p.pitch + key) =
        *reinterpret_cast<const uint4*>(made);
  }
}

template <typename T>
__device__ __forceinline__ float2 unpack2(uint32_t pair);

template <>
__device__ __forceinline__ float2 unpack2<__half>(uint32_t pair) {
  return __half22float2(*reinterpret_cast<const __half2*>(&pair));
}

template <>
__device__ __forceinline__ float2 unpack2<__nv_bfloat16>(uint32_t pair) {
  return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
}

// s = s * scale + mask. `m_at`: the warpgroup's 64 rows of the mask, 8 N keys in slabs of 64 with
// TMA's swizzle. ldmatrix deals elements out just as the scores lie.
template <typename T, int N>
__device__ __forceinline__ void add_mask(float (&s)[N][4], uint32_t m_at, float scale, int warp,
                                         int lane) {
  const int row = warp * 16 + lane % 16;
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    uint32_t mask[4];
    const int unit = n % 8 + lane / 16;
    ldmatrix_x4(mask, m_at + n / 8 * (64 * 128) + row * 128 + ((unit ^ (row & 7)) << 4));
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const float2 x = unpack2<T>(mask[c]);
      float(&to)[4] = s[n + c / 2];
      to[c % 2 * 2] = fmaf(to[c % 2 * 2], scale, x.x);
      to[c % 2 * 2 + 1] = fmaf(to[c % 2 * 2 + 1], scale, x.y);
    }
  }
}

}  // namespace wb::gpu
