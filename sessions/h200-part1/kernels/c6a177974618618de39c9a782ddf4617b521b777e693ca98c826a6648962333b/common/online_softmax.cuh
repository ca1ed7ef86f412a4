// SPDX-License-Identifier: MIT
// Online softmax on the accumulators of a warpgroup's S = Q K^T: 64 rows, N groups of 8 keys, warp
// w having rows 16 w to 16 w + 15. A thread has rows g and g + 8 of its warp (g = lane / 4), "half"
// 0 and 1, and of each group of 8 keys the two from 2 (lane % 4) on: s[n][2 half + c]. Included by
// sm90_wgmma_carry, sm90_wgmma_pingpong, sm90_wgmma_wide and sm90_wgmma_flash.
#pragma once

#include "mma.cuh"

#include <cmath>
#include <cstdint>

namespace wb::gpu {

struct RowState {
  float m[2], l[2], alpha[2];  // maximum, this thread's part of the sum, factor of O
  int limit[2];                // last key that rows g and g + 8 may see
  int least_limit;             // of the warpgroup's rows: steps below it need no mask
  int keys;                    // how many its last row sees
};

// Of the warpgroup whose rows begin at first_row. P: seq_q, seq_kv, causal_offset.
template <class P>
__device__ __forceinline__ RowState start_rows(const P& p, int first_row, int thread) {
  RowState r;
  r.least_limit = min(p.seq_kv - 1, first_row + p.causal_offset);
  const int last_row = min(first_row + 63, p.seq_q - 1);
  r.keys = first_row < p.seq_q ? max(0, min(p.seq_kv, last_row + p.causal_offset + 1)) : 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    r.m[half] = -INFINITY;
    r.l[half] = 0.0f;
    const int row = first_row + thread / 32 * 16 + 8 * half + thread % 32 / 4;
    r.limit[half] = min(p.seq_kv - 1, row + p.causal_offset);
  }
  return r;
}

// Takes out what the rows do not see of the keys from first_key on.
template <int N>
__device__ __forceinline__ void mask_scores(float (&s)[N][4], const RowState& r, int first_key,
                                            int lane) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (first_key + 8 * n + 2 * (lane % 4) + c % 2 > r.limit[c / 2]) s[n][c] = -INFINITY;
    }
  }
}

// Online softmax of the first Used groups of keys: s becomes P (f32), r.alpha the factor that O
// still has to be given. scale_log2: of the scores, to powers of two.
template <int Used, int N>
__device__ __forceinline__ void softmax(float (&s)[N][4], RowState& r, float scale_log2) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float top[2] = {r.m[half], s[0][2 * half]};
#pragma unroll
    for (int n = 0; n < Used; ++n) {
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
    for (int n = 0; n < Used; ++n) {
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
template <int N>
__device__ __forceinline__ void softmax_masked(float (&s)[N][4], RowState& r) {
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
    const float shift = top[0] == -INFINITY ? 0.0f : top[0];
    r.alpha[half] = ex2((r.m[half] - shift) * k_log2_e);
    r.m[half] = top[0];
    float sum[2] = {0.0f, 0.0f};
#pragma unroll
    for (int n = 0; n < N; ++n) {
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

// Sums of whole rows from the parts of the four threads of a quad.
__device__ __forceinline__ void sum_rows(RowState& r) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    r.l[half] += __shfl_xor_sync(~0u, r.l[half], 1);
    r.l[half] += __shfl_xor_sync(~0u, r.l[half], 2);
  }
}

// P as the A operand of wgmma_rs, 16 keys each.
template <typename T, int M, int N>
__device__ __forceinline__ void pack_probabilities(uint32_t (&prob)[M][4], const float (&s)[N][4]) {
  static_assert(N == 2 * M);
#pragma unroll
  for (int ks = 0; ks < M; ++ks) {
    prob[ks][0] = pack2<T>(s[2 * ks][0], s[2 * ks][1]);
    prob[ks][1] = pack2<T>(s[2 * ks][2], s[2 * ks][3]);
    prob[ks][2] = pack2<T>(s[2 * ks + 1][0], s[2 * ks + 1][1]);
    prob[ks][3] = pack2<T>(s[2 * ks + 1][2], s[2 * ks + 1][3]);
  }
}

// O: N groups of 8 columns.
template <int N>
__device__ __forceinline__ void rescale(float (&o)[N][4], const float (&alpha)[2]) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) o[n][c] *= alpha[c / 2];
  }
}

template <int N>
__device__ __forceinline__ void clear(float (&o)[N][4]) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) o[n][c] = 0.0f;
  }
}

}  // namespace wb::gpu
