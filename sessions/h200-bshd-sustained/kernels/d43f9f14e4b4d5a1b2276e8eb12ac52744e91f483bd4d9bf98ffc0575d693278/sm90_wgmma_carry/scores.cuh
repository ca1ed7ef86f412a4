// SPDX-License-Identifier: MIT
// The products of one step of keys in sm90_wgmma_carry, by descriptors that are moved on, and what
// is masked of half a step. The softmax: online_softmax.cuh.
#pragma once

#include "online_softmax.cuh"
#include "prefill_mask.cuh"
#include "schedule.cuh"
#include "wgmma.cuh"
#include "wgmma_widths.cuh"

namespace wb::gpu {

// S = Q K^T, issued; the caller commits and waits.
template <class S>
__device__ __forceinline__ void score(float (&s)[S::BN / 8][4], uint64_t q, uint64_t k) {
#pragma unroll
  for (int ks = 0; ks < S::COLS / 16; ++ks) {
    const uint32_t column = ks % 4 * 32;
    wgmma_ss<typename S::T, S::BN / 8>(s, wgmma_descriptor_add(q, ks / 4 * (64 * 128) + column),
                                       wgmma_descriptor_add(k, ks / 4 * (S::BN * 128) + column),
                                       ks > 0);
  }
}

// O += P V over the step's First-th to Last-th 16 keys, issued.
template <class S, int First, int Last>
__device__ __forceinline__ void accumulate(float (&o)[S::COLS / 8][4],
                                           const uint32_t (&prob)[S::BN / 16][4], uint64_t v) {
#pragma unroll
  for (int ks = First; ks < Last; ++ks) {
    wgmma_rs<typename S::T, S::COLS / 8>(o, prob[ks], wgmma_descriptor_add(v, ks * (16 * 128)));
  }
}

// Takes out what the rows do not see, from the First-th to before the Last-th eight keys of the
// step.
template <class S, int First, int Last = S::BN / 8>
__device__ __forceinline__ void mask_scores_from(float (&s)[S::BN / 8][4], const RowState& r,
                                                 int first_key, int lane) {
  int last[2];  // that a row sees, counted from this thread's first key
#pragma unroll
  for (int half = 0; half < 2; ++half) last[half] = r.limit[half] - first_key - 2 * (lane % 4);
#pragma unroll
  for (int n = First; n < Last; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (8 * n + c % 2 > last[c / 2]) s[n][c] = -INFINITY;
    }
  }
}

}  // namespace wb::gpu
