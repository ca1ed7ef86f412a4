// SPDX-License-Identifier: MIT
// What a computing warpgroup of sm90_wgmma_carry does with one step of keys: products, online
// softmax, P for the next product.
#pragma once

#include "mma.cuh"
#include "prefill_mask.cuh"
#include "schedule.cuh"
#include "wgmma.cuh"
#include "wgmma_widths.cuh"

#include <cmath>

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

struct RowState {
  float m[2], l[2], alpha[2];
  int limit[2];     // last key that rows g and g + 8 may see
  int least_limit;  // of the warpgroup's rows: steps below it need no mask
};

__device__ __forceinline__ RowState start_rows(const Params& p, int first_row, int thread) {
  RowState r;
  r.least_limit = min(p.seq_kv - 1, first_row + p.causal_offset);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    r.m[half] = -INFINITY;
    r.l[half] = 0.0f;
    const int row = first_row + thread / 32 * 16 + 8 * half + thread % 32 / 4;
    r.limit[half] = min(p.seq_kv - 1, row + p.causal_offset);
  }
  return r;
}

// Takes out what the rows do not see, from the First-th eight keys of the step on.
template <class S, int First>
__device__ __forceinline__ void mask_scores(float (&s)[S::BN / 8][4], const RowState& r,
                                            int first_key, int lane) {
  int last[2];  // that a row sees, counted from this thread's first key
#pragma unroll
  for (int half = 0; half < 2; ++half) last[half] = r.limit[half] - first_key - 2 * (lane % 4);
#pragma unroll
  for (int n = First; n < S::BN / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (8 * n + c % 2 > last[c / 2]) s[n][c] = -INFINITY;
    }
  }
}

// Online softmax of the step's first N times eight keys: s becomes P (f32), r.alpha the factor that
// O still has to be given.
template <class S, int N>
__device__ __forceinline__ void softmax(float (&s)[S::BN / 8][4], RowState& r, float scale_log2) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float top[2] = {r.m[half], s[0][2 * half]};
#pragma unroll
    for (int n = 0; n < N; ++n) {
      top[0] = fmaxf(top[0], s[n][2 * half]);
      top[1] = fmaxf(top[1], s[n][2 * half + 1]);
    }
    top[0] = fmaxf(top[0], top[1]);
    top[0] = fmaxf(top[0], __shfl_xor_sync(~0u, top[0], 1));
    top[0] = fmaxf(top[0], __shfl_xor_sync(~0u, top[0], 2));
    const float shift = top[0] == -INFINITY ? 0.0f : top[0] * scale_log2;
    // A difference first: exactly 1 while the maximum stands, else the error would compound.
    r.alpha[half] = top[0] == -INFINITY ? 0.0f : ex2((r.m[half] - top[0]) * scale_log2);
    r.m[half] = top[0];
    float sum[2] = {0.0f, 0.0f};
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& x = s[n][2 * half + c];
        x = ex2(x * scale_log2 - shift);
        sum[c] += x;
      }
    }
    r.l[half] = r.l[half] * r.alpha[half] + (sum[0] + sum[1]);
  }
}

// The same of scores that a mask was added to: they are in natural units, and differences are taken
// before these become powers of two, since a mask may hold the least number of its type.
template <class S>
__device__ __forceinline__ void softmax_masked(float (&s)[S::BN / 8][4], RowState& r) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float top[2] = {r.m[half], s[0][2 * half]};
#pragma unroll
    for (int n = 0; n < S::BN / 8; ++n) {
      top[0] = fmaxf(top[0], s[n][2 * half]);
      top[1] = fmaxf(top[1], s[n][2 * half + 1]);
    }
    top[0] = fmaxf(top[0], top[1]);
    top[0] = fmaxf(top[0], __shfl_xor_sync(~0u, top[0], 1));
    top[0] = fmaxf(top[0], __shfl_xor_sync(~0u, top[0], 2));
    const float shift = top[0] == -INFINITY ? 0.0f : top[0];
    r.alpha[half] = ex2((r.m[half] - shift) * k_log2_e);
    r.m[half] = top[0];
    float sum[2] = {0.0f, 0.0f};
#pragma unroll
    for (int n = 0; n < S::BN / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& x = s[n][2 * half + c];
        x = ex2((x - shift) * k_log2_e);
        sum[c] += x;
      }
    }
    r.l[half] = r.l[half] * r.alpha[half] + (sum[0] + sum[1]);
  }
}

template <class S>
__device__ __forceinline__ void pack_probabilities(uint32_t (&prob)[S::BN / 16][4],
                                                   const float (&s)[S::BN / 8][4]) {
  using T = typename S::T;
#pragma unroll
  for (int ks = 0; ks < S::BN / 16; ++ks) {
    prob[ks][0] = pack2<T>(s[2 * ks][0], s[2 * ks][1]);
    prob[ks][1] = pack2<T>(s[2 * ks][2], s[2 * ks][3]);
    prob[ks][2] = pack2<T>(s[2 * ks + 1][0], s[2 * ks + 1][1]);
    prob[ks][3] = pack2<T>(s[2 * ks + 1][2], s[2 * ks + 1][3]);
  }
}

template <class S>
__device__ __forceinline__ void rescale(float (&o)[S::COLS / 8][4], const RowState& r) {
#pragma unroll
  for (int n = 0; n < S::COLS / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) o[n][c] *= r.alpha[c / 2];
  }
}

}  // namespace wb::gpu
