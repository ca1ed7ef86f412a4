// SPDX-License-Identifier: MIT
// The two products of attention as rows of wgmma: S = Q K^T with both from shared memory, O += P V
// with P from registers. Tiles lie in slabs of 64 columns (wgmma.cuh); addresses are of shared
// memory. Included by sm90_wgmma_pingpong and sm90_wgmma_flash.
#pragma once

#include "wgmma.cuh"

namespace wb::gpu {

// S = Q K^T over Cols columns, 64 rows by 8 N keys, issued; the caller commits and waits.
template <typename T, int Cols, int N>
__device__ __forceinline__ void score(float (&s)[N][4], uint32_t q_at, uint32_t k_at) {
#pragma unroll
  for (int ks = 0; ks < Cols / 16; ++ks) {
    const uint32_t column = ks % 4 * 32;
    wgmma_ss<T, N>(s, wgmma_descriptor_k_major(q_at + ks / 4 * (64 * 128) + column),
                   wgmma_descriptor_k_major(k_at + ks / 4 * (8 * N * 128) + column), ks > 0);
  }
}

// O += P V over the First-th to Last-th 16 of a step's 16 M keys, issued.
template <typename T, int First, int Last, int N, int M>
__device__ __forceinline__ void accumulate(float (&o)[N][4], const uint32_t (&prob)[M][4],
                                           uint32_t v_at) {
#pragma unroll
  for (int ks = First; ks < Last; ++ks) {
    wgmma_rs<T, N>(o, prob[ks], wgmma_descriptor_mn_major(v_at + ks * (16 * 128), 16 * M * 128));
  }
}

}  // namespace wb::gpu
