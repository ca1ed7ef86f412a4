// SPDX-License-Identifier: MIT
// The end of a tile of sm90_wgmma_carry: split warpgroups merged, O and the log-sum-exp out.
#pragma once

#include "walk.cuh"

namespace wb::gpu {

// Named barriers of the place where the second of two split warpgroups leaves its part.
inline constexpr uint32_t k_merge_full = 1, k_merge_empty = 2;

// The second warpgroup's part; thread for thread the same rows and columns as the first one's.
template <class S>
__device__ __forceinline__ void hand_over(const float (&o)[S::COLS / 8][4], const RowState& r,
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

template <class S>
__device__ __forceinline__ void merge(float (&o)[S::COLS / 8][4], RowState& r, const Params& p,
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

// O through the warp's own rows of the warpgroup's Q tile, then out in 16-byte pieces.
template <class S>
__device__ __forceinline__ void store_rows(const float (&o)[S::COLS / 8][4], const RowState& r,
                                           const Params& p, unsigned char* q_tile, const Tile& t,
                                           int first_row, int warp, int lane,
                                           const CUtensorMap* map_o) {
  using T = typename S::T;
  const int quad = lane / 4, pair = lane % 4;
  const auto at = [&](int row, int unit) {
    return q_tile + (unit / 8) * (64 * 128) + row * 128 + ((unit % 8 ^ (row & 7)) << 4);
  };
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp * 16 + 8 * half + quad;
    const float l = r.l[half], inverse = l > 0.0f ? 1.0f / l : 0.0f;  // no key: zeros
#pragma unroll
    for (int n = 0; n < S::COLS / 8; ++n) {
      *reinterpret_cast<uint32_t*>(at(row, n) + 4 * pair) =
          pack2<T>(o[n][2 * half] * inverse, o[n][2 * half + 1] * inverse);
    }
    if (p.lse != nullptr && pair == 0 && first_row + row < p.seq_q) {
      p.lse[(int64_t(t.batch) * p.heads_q + t.head) * p.seq_q + first_row + row] =
          l > 0.0f ? r.m[half] * (S::MASKS > 0 ? 1.0f : p.scale_log2 * k_ln_2) + logf(l)
                   : -INFINITY;
    }
  }
  if constexpr (S::COPY_OUT) {
    fence_proxy_async_shared();
    __syncwarp();
    if (lane == 0) {
#pragma unroll
      for (int slab = 0; slab < S::DP / 64; ++slab) {
        cp_async_bulk_tensor_4d_out(map_o,
                                    smem_address(q_tile) + slab * (64 * 128) + warp * (16 * 128),
                                    slab * 64, first_row + warp * 16, t.head, t.batch);
      }
      cp_async_bulk_commit_group();
    }
    return;
  }
  __syncwarp();
  T* out = static_cast<T*>(p.out) + t.batch * p.so.batch + t.head * p.so.head;
  constexpr int units = S::COLS / 8;
#pragma unroll 4
  for (int e = lane; e < 16 * units; e += 32) {
    const int row = warp * 16 + e / units, unit = e % units;
    if (first_row + row >= p.seq_q || unit * 8 >= p.dim_v) continue;
    *reinterpret_cast<uint4*>(out + (first_row + row) * p.so.row + unit * 8) =
        *reinterpret_cast<const uint4*>(at(row, unit));
  }
}

template <class S>
__device__ __forceinline__ void clear(float (&o)[S::COLS / 8][4]) {
#pragma unroll
  for (int n = 0; n < S::COLS / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) o[n][c] = 0.0f;
  }
}

// O of a tile out, and its buffer of Q given back.
template <class S>
__device__ __forceinline__ void finish_tile(Worker<S>& w, const Job& job, RowState& r,
                                            float (&o)[S::COLS / 8][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    r.l[half] += __shfl_xor_sync(~0u, r.l[half], 1);
    r.l[half] += __shfl_xor_sync(~0u, r.l[half], 2);
  }
  if constexpr (S::SPLIT) {
    if (w.wg == 0) {
      merge<S>(o, r, w.p, w.smem, w.thread);
    } else {
      hand_over<S>(o, r, w.smem, w.thread);
    }
  }
  barrier_sync(1 + S::WGS + w.wg, 128);  // every warp has read Q: O overlays it
  if (!S::SPLIT || w.wg == 0) {
    store_rows<S>(o, r, w.p, w.smem + job.at * S::k_q_group_bytes, job.tile, job.first_row, w.warp,
                  w.lane, w.map_o);
  }
  if constexpr (S::COPY_OUT) {
    if constexpr (S::CARRY) {
      w.storing = job.at;
    } else {
      w.release_stored(job.at);
    }
  } else {
    fence_proxy_async_shared();
    mbarrier_arrive(w.bar.empty_q(job.at));
  }
}

}  // namespace wb::gpu
