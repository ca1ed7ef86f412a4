// SPDX-License-Identifier: MIT
// The two products of attention as rows of wgmma: S = Q K^T with both from shared memory, O += P V
// with P from registers. Tiles lie in slabs of 64 columns (wgmma.cuh). All are issued only; the
// caller commits and waits. Included by sm90_wgmma_carry, sm90_wgmma_pingpong and sm90_wgmma_flash.
#pragma once

#include "sm90/wgmma.cuh"

namespace wb::gpu {

// S = Q K^T over Cols columns, 64 rows by 8 N keys; addresses are of shared memory.
template <typename T, int Cols, int N>
__device__ __forceinline__ void gemm_qk(float (&s)[N][4], uint32_t q_at, uint32_t k_at) {
#pragma unroll
  for (int ks = 0; ks < Cols / 16; ++ks) {
    const uint32_t column = ks % 4 * 32;
    wgmma_ss<T, N>(s, wgmma_descriptor_k_major(q_at + ks / 4 * (64 * 128) + column),
                   wgmma_descriptor_k_major(k_at + ks / 4 * (8 * N * 128) + column), ks > 0);
  }
}

// O += P V over the First-th to Last-th 16 of a step's 16 M keys.
template <typename T, int First, int Last, int N, int M>
__device__ __forceinline__ void gemm_pv(float (&o)[N][4], const uint32_t (&prob)[M][4],
                                        uint32_t v_at) {
#pragma unroll
  for (int ks = First; ks < Last; ++ks) {
    wgmma_rs<T, N>(o, prob[ks], wgmma_descriptor_mn_major(v_at + ks * (16 * 128), 16 * M * 128));
  }
}

// The same by descriptors that are moved on: one addition a product, where making each anew is a
// chain of four. S: T, COLS, BN.
template <class S>
__device__ __forceinline__ void gemm_qk_by_descriptor(float (&s)[S::BN / 8][4], uint64_t q,
                                                      uint64_t k) {
#pragma unroll
  for (int ks = 0; ks < S::COLS / 16; ++ks) {
    const uint32_t column = ks % 4 * 32;
    wgmma_ss<typename S::T, S::BN / 8>(s, wgmma_descriptor_add(q, ks / 4 * (64 * 128) + column),
                                       wgmma_descriptor_add(k, ks / 4 * (S::BN * 128) + column),
                                       ks > 0);
  }
}

template <class S, int First = 0, int Last = S::BN / 16>
__device__ __forceinline__ void gemm_pv_by_descriptor(float (&o)[S::COLS / 8][4],
                                                      const uint32_t (&prob)[S::BN / 16][4],
                                                      uint64_t v) {
#pragma unroll
  for (int ks = First; ks < Last; ++ks) {
    wgmma_rs<typename S::T, S::COLS / 8>(o, prob[ks], wgmma_descriptor_add(v, ks * (16 * 128)));
  }
}

}  // namespace wb::gpu
