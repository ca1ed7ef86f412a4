// SPDX-License-Identifier: MIT
// The epilogue of the prefill kernels whose shape is a PrefillShape: two warpgroups that split the
// keys are merged, O is divided by its sums and goes to shared memory, the log-sum-exp goes out.
// Included by sm90_wgmma_carry and sm90_wgmma_pingpong.
#pragma once

#include "sm90/online_softmax.cuh"
#include "sm90/prefill_pipeline.cuh"
#include "sm90/row_store.cuh"

namespace wb::gpu {

// Named barriers of the shared memory in which the second of two split warpgroups leaves its part.
inline constexpr uint32_t k_merge_full = 1, k_merge_empty = 2;

// The second warpgroup's part; thread for thread the same rows and columns as the first one's.
template <class S>
__device__ __forceinline__ void send_partial(const float (&o)[S::COLS / 8][4], const RowState& r,
                                             unsigned char* smem, int thread) {
  float* to = reinterpret_cast<float*>(smem + S::k_merge) + thread;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    to[(2 * half) * 128] = r.m[half];
    to[(2 * half + 1) * 128] = r.l[half];
  }
#pragma unroll
  for (int n = 0; n < S::COLS / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) to[(4 + 4 * n + c) * 128] = o[n][c];
  }
  barrier_sync(k_merge_full, 256);
  barrier_sync(k_merge_empty, 256);
}

// The first warpgroup adds the second one's part to its own. P: scale_log2.
template <class S, class P>
__device__ __forceinline__ void merge_partial(float (&o)[S::COLS / 8][4], RowState& r, const P& p,
                                              const unsigned char* smem, int thread) {
  const float* from = reinterpret_cast<const float*>(smem + S::k_merge) + thread;
  barrier_sync(k_merge_full, 256);
  float own[2], other[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float m = from[(2 * half) * 128], l = from[(2 * half + 1) * 128];
    const float top = fmaxf(r.m[half], m), shift = top == -INFINITY ? 0.0f : top;
    own[half] = ex2((r.m[half] - shift) * p.scale_log2);
    other[half] = ex2((m - shift) * p.scale_log2);
    r.m[half] = top;
    r.l[half] = r.l[half] * own[half] + l * other[half];
  }
#pragma unroll
  for (int n = 0; n < S::COLS / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      o[n][c] = o[n][c] * own[c / 2] + from[(4 + 4 * n + c) * 128] * other[c / 2];
    }
  }
  barrier_sync(k_merge_empty, 256);
}

// The end of both, once the rows are summed.
template <class S, class P>
__device__ __forceinline__ void merge_split(float (&o)[S::COLS / 8][4], RowState& r, const P& p,
                                            unsigned char* smem, int wg, int thread) {
  if constexpr (S::SPLIT) {
    if (wg == 0) {
      merge_partial<S>(o, r, p, smem, thread);
    } else {
      send_partial<S>(o, r, smem, thread);
    }
  }
}

// O into the warp's own rows of the warpgroup's Q tile, the log-sum-exp (natural units) out. P:
// lse, heads_q, seq_q, scale_log2.
template <class S, class P>
__device__ __forceinline__ void rows_to_smem(const float (&o)[S::COLS / 8][4], const RowState& r,
                                             const P& p, unsigned char* q_tile, const WorkTile& t,
                                             int first_row, int warp, int lane) {
  const int quad = lane / 4, pair = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp * 16 + 8 * half + quad;
    const float l = r.l[half], inverse = l > 0.0f ? 1.0f / l : 0.0f;  // no key: zeros
    row_to_smem<typename S::T>(o, half, inverse, q_tile, row, 0, pair);
    if (p.lse != nullptr && pair == 0 && first_row + row < p.seq_q) {
      p.lse[(int64_t(t.batch) * p.heads_q + t.head) * p.seq_q + first_row + row] =
          l > 0.0f ? r.m[half] * (S::MASKS > 0 ? 1.0f : p.scale_log2 * k_ln_2) + logf(l)
                   : -INFINITY;
    }
  }
}

}  // namespace wb::gpu
