// SPDX-License-Identifier: MIT
// Online softmax on the accumulators of a warpgroup's S = Q K^T: 64 rows, N groups of 8 keys, warp
// w having rows 16 w to 16 w + 15. A thread has rows g and g + 8 of its warp (g = lane / 4), "half"
// 0 and 1, and of each group of 8 keys the two from 2 (lane % 4) on: s[n][2 half + c]. Included by
// sm90_wgmma_carry, sm90_wgmma_pingpong, sm90_wgmma_wide, sm90_wgmma_flash and sm90_f16x3_flash.
#pragma once

#include "sm80/mma.cuh"

#include <cmath>
#include <cstdint>

namespace wb::gpu {

struct RowState {
  float m[2], l[2], alpha[2];  // maximum, this thread's part of the sum, factor of O
  int limit[2];                // last key that rows g and g + 8 may see
  int least_limit;             // of the warpgroup's rows: steps below it need no mask
  int keys;                    // how many its last row sees
  bool no_negatives;           // softmax_by_threes
};

// Of the warpgroup whose rows begin at first_row. P: seq_q, seq_kv, causal_offset.
template <class P>
__device__ __forceinline__ RowState init_rows(const P& p, int first_row, int thread) {
  RowState r;
  r.no_negatives = false;
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

// The same from the First-th to before the Last-th eight keys of the step; counts from the row's
// last key, which is one subtraction a row instead of one addition a key.
template <int First, int Last, int N>
__device__ __forceinline__ void mask_scores_between(float (&s)[N][4], const RowState& r,
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

// The largest of a row's four threads.
__device__ __forceinline__ float quad_max(float top) {
  top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
  return fmaxf(top, __shfl_xor_sync(~0u, top, 2));
}

// Into top, what is larger of the first Used groups' scores that this thread has of a row: even
// keys and odd keys apart, so that two chains of instructions run side by side.
template <int Used, int N>
__device__ __forceinline__ void max_of_scores(float (&top)[2], const float (&s)[N][4], int half) {
#pragma unroll
  for (int n = 0; n < Used; ++n) {
    top[0] = fmaxf(top[0], s[n][2 * half]);
    top[1] = fmaxf(top[1], s[n][2 * half + 1]);
  }
}

// The running maximum with the scores, by the hardware's maximum of three integers, which takes
// half as many instructions: a negative float is a negative integer, so beside a maximum that is
// not negative it never wins, whichever way negative ones compare among themselves.
template <int Used, int N>
__device__ __forceinline__ float thread_max_by_threes(const float (&s)[N][4], const RowState& r,
                                                      int half) {
  static_assert(Used % 2 == 0);
  int top[2] = {__float_as_int(r.m[half]), __float_as_int(r.m[half])};
#pragma unroll
  for (int n = 0; n < Used; ++n) {
    top[n % 2] = __vimax3_s32(top[n % 2], __float_as_int(s[n][2 * half]),
                              __float_as_int(s[n][2 * half + 1]));
  }
  return __int_as_float(max(top[0], top[1]));
}

// Scores of one of the two rows to probabilities, given the row's maximum.
template <int Used, int Chains, int N>
__device__ __forceinline__ void exponentiate_row(float (&s)[N][4], RowState& r, int half, float top,
                                                 float scale_log2) {
  const float shift = top == -INFINITY ? 0.0f : top * scale_log2;
  // A difference first: exactly 1 while the maximum stands, else the error would compound.
  r.alpha[half] = top == -INFINITY ? 0.0f : ex2((r.m[half] - top) * scale_log2);
  r.m[half] = top;
  float sum[Chains] = {};
#pragma unroll
  for (int n = 0; n < Used; ++n) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float& x = s[n][2 * half + c];
      x = ex2(x * scale_log2 - shift);
      sum[c % Chains] += x;
    }
  }
  r.l[half] = r.l[half] * r.alpha[half] + (Chains == 1 ? sum[0] : sum[0] + sum[Chains - 1]);
}

// Online softmax of the first Used groups of keys: s becomes P (f32), r.alpha the factor that O
// still has to be given. scale_log2: of the scores, to powers of two. Chains of maxima and of sums:
// two are quicker, one takes fewer registers.
template <int Used, int Chains = 2, int N>
__device__ __forceinline__ void softmax(float (&s)[N][4], RowState& r, float scale_log2) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if constexpr (Chains == 1) {
      float top = r.m[half];
#pragma unroll
      for (int n = 0; n < Used; ++n) {
        top = fmaxf(top, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
      }
      exponentiate_row<Used, 1>(s, r, half, quad_max(top), scale_log2);
    } else {
      float top[2] = {r.m[half], s[0][2 * half]};
      max_of_scores<Used>(top, s, half);
      exponentiate_row<Used, 2>(s, r, half, quad_max(fmaxf(top[0], top[1])), scale_log2);
    }
  }
}

// The same with maxima by threes where they can be: r.no_negatives says of the warp's running
// maxima that none is negative, which after a few keys is the rule.
template <int Used, int N>
__device__ __forceinline__ void softmax_by_threes(float (&s)[N][4], RowState& r, float scale_log2) {
  float maxima[2];
  if (r.no_negatives) {
#pragma unroll
    for (int half = 0; half < 2; ++half) maxima[half] = thread_max_by_threes<Used>(s, r, half);
  } else {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top[2] = {r.m[half], s[0][2 * half]};
      max_of_scores<Used>(top, s, half);
      maxima[half] = fmaxf(top[0], top[1]);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) maxima[half] = quad_max(maxima[half]);
  const int signs = __float_as_int(maxima[0]) | __float_as_int(maxima[1]);
  r.no_negatives = __all_sync(~0u, signs >= 0);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    exponentiate_row<Used, 2>(s, r, half, maxima[half], scale_log2);
  }
}

// The same of scores that a mask was added to: they are in natural units, and differences are taken
// before these become powers of two, since a mask may hold the least number of its type.
template <int N>
__device__ __forceinline__ void softmax_masked(float (&s)[N][4], RowState& r) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float both[2] = {r.m[half], s[0][2 * half]};
    max_of_scores<N>(both, s, half);
    const float top = quad_max(fmaxf(both[0], both[1]));
    const float shift = top == -INFINITY ? 0.0f : top;
    r.alpha[half] = ex2((r.m[half] - shift) * k_log2_e);
    r.m[half] = top;
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
__device__ __forceinline__ void reduce_row_sums(RowState& r) {
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
