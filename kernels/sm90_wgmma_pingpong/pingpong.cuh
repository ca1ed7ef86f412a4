// SPDX-License-Identifier: MIT
// The computing warpgroups of sm90_wgmma_pingpong, stages as named functions, and the kernel. Idea
// and host part: kernel.cu, its only user.
#pragma once

#include "mma.cuh"
#include "prefill_mask.cuh"
#include "schedule.cuh"
#include "warpgroup.cuh"
#include "wgmma.cuh"
#include "wgmma_widths.cuh"

#include <cmath>

namespace wb::gpu {

// S = Q K^T, issued; the caller commits and waits.
template <class S>
__device__ __forceinline__ void score(float (&s)[S::BN / 8][4], uint32_t q_at, uint32_t k_at) {
#pragma unroll
  for (int ks = 0; ks < S::COLS / 16; ++ks) {
    const uint32_t column = ks % 4 * 32;
    wgmma_ss<typename S::T, S::BN / 8>(
        s, wgmma_descriptor_k_major(q_at + ks / 4 * (64 * 128) + column),
        wgmma_descriptor_k_major(k_at + ks / 4 * (S::BN * 128) + column), ks > 0);
  }
}

// O += P V over the step's First-th to Last-th 16 keys, issued.
template <class S, int First, int Last>
__device__ __forceinline__ void accumulate(float (&o)[S::COLS / 8][4],
                                           const uint32_t (&prob)[S::BN / 16][4], uint32_t v_at) {
#pragma unroll
  for (int ks = First; ks < Last; ++ks) {
    wgmma_rs<typename S::T, S::COLS / 8>(
        o, prob[ks], wgmma_descriptor_mn_major(v_at + ks * (16 * 128), S::BN * 128));
  }
}

struct RowState {
  float m[2], l[2], alpha[2];
  int limit[2];     // last key that rows g and g + 8 may see
  int least_limit;  // of the warpgroup's rows: steps below it need no mask
  int keys;         // how many its last row sees
};

__device__ __forceinline__ RowState start_rows(const Params& p, int first_row, int thread) {
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

template <class S>
__device__ __forceinline__ void mask_scores(float (&s)[S::BN / 8][4], const RowState& r,
                                            int first_key, int lane) {
#pragma unroll
  for (int n = 0; n < S::BN / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (first_key + 8 * n + 2 * (lane % 4) + c % 2 > r.limit[c / 2]) s[n][c] = -INFINITY;
    }
  }
}

// Online softmax: s becomes P (f32), r.alpha the factor that O still has to be given.
template <class S>
__device__ __forceinline__ void softmax(float (&s)[S::BN / 8][4], RowState& r, float scale_log2) {
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
    const float shift = top[0] == -INFINITY ? 0.0f : top[0] * scale_log2;
    // A difference first: exactly 1 while the maximum stands, else the error would compound.
    r.alpha[half] = top[0] == -INFINITY ? 0.0f : ex2((r.m[half] - top[0]) * scale_log2);
    r.m[half] = top[0];
    float sum[2] = {0.0f, 0.0f};
#pragma unroll
    for (int n = 0; n < S::BN / 8; ++n) {
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

// Whose products are next: warpgroup wg waits on barrier 1 + wg, and hands on to the next one.
template <class S>
__device__ __forceinline__ void await_turn(int wg) {
  if (S::k_turns) barrier_sync(1 + wg, 256);
}

template <class S>
__device__ __forceinline__ void pass_turn(int wg) {
  if (S::k_turns) barrier_arrive(1 + (wg + 1 == S::WGS ? 0 : wg + 1), 256);
}

// A step of the tile that this warpgroup leaves out: its turn and its places in the rings pass on.
template <class S>
__device__ __forceinline__ void pass_over(const Barriers<S>& bar, Place<S::STAGES>& k,
                                          Place<S::STAGES>& v, int wg, int lane) {
  mbarrier_wait_parity(bar.full_k(k.slot), k.parity);
  await_turn<S>(wg);
  pass_turn<S>(wg);
  if (lane == 0) mbarrier_arrive(bar.empty_k(k.slot));
  k.advance();
  mbarrier_wait_parity(bar.full_v(v.slot), v.parity);
  if (lane == 0) mbarrier_arrive(bar.empty_v(v.slot));
  v.advance();
}

// The steps of one tile. Step j: Q K(j) and P(j-1) V(j-1) are issued together in this warpgroup's
// turn; the softmax of step j overlaps the latter, and the products of the other warpgroups.
template <class S>
__device__ __forceinline__ void walk_keys(float (&o)[S::COLS / 8][4], RowState& r, const Params& p,
                                          uint32_t base, const Barriers<S>& bar,
                                          Place<S::STAGES>& k, Place<S::STAGES>& v,
                                          Place<S::MASKS>& m, uint32_t q_at, int steps, int wg,
                                          int warp, int lane) {
  const uint32_t k_ring = base + S::k_k_ring, v_ring = base + S::k_v_ring;
  constexpr int apart = S::SPLIT ? S::WGS : 1;  // of this warpgroup's steps
  const int first = S::SPLIT ? wg : 0;
  const int own_steps =
      S::TRIM ? (r.keys + S::BN - 1) / S::BN : (steps - first + apart - 1) / apart;
  const bool short_end = S::TRIM && r.keys <= (own_steps - 1) * S::BN + S::k_short_keys;
  if ((S::TRIM || S::SPLIT) && own_steps == 0) {
    if constexpr (S::TRIM) {
      for (int j = 0; j < steps; ++j) pass_over<S>(bar, k, v, wg, lane);
    }
    return;
  }
  float s[S::BN / 8][4];
  uint32_t prob[S::BN / 16][4];
  const auto weigh = [&](int j) {
    if constexpr (S::MASKS > 0) {
      mbarrier_wait_parity(bar.full_mask(m.slot), m.parity);
      add_mask<typename S::T, S::BN / 8>(
          s, base + S::k_mask_ring + m.slot * S::k_mask_bytes + wg * S::k_mask_group_bytes, p.scale,
          warp, lane);
      if (lane == 0) mbarrier_arrive(bar.empty_mask(m.slot));
      m.advance();
    }
    const int first_key = (first + j * apart) * S::BN;
    if (first_key + S::BN - 1 > r.least_limit) mask_scores<S>(s, r, first_key, lane);
    if constexpr (S::MASKS > 0) {
      softmax_masked<S>(s, r);
    } else {
      softmax<S>(s, r, p.scale_log2);
    }
  };

  mbarrier_wait_parity(bar.full_k(k.slot), k.parity);
  await_turn<S>(wg);
  wgmma_fence();
  score<S>(s, q_at, k_ring + k.slot * S::k_tile_bytes);
  wgmma_commit_group();
  pass_turn<S>(wg);
  wgmma_wait_group<0>();
  fence_operands(s);
  if (lane == 0) mbarrier_arrive(bar.empty_k(k.slot));
  k.advance(apart);
  weigh(0);
  pack_probabilities<S>(prob, s);

  for (int j = 1; j < own_steps; ++j) {
    mbarrier_wait_parity(bar.full_k(k.slot), k.parity);
    await_turn<S>(wg);
    fence_operands(s);
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    score<S>(s, q_at, k_ring + k.slot * S::k_tile_bytes);
    wgmma_commit_group();
    mbarrier_wait_parity(bar.full_v(v.slot), v.parity);
    wgmma_fence();
    accumulate<S, 0, S::BN / 16>(o, prob, v_ring + v.slot * S::k_tile_bytes);
    wgmma_commit_group();
    pass_turn<S>(wg);
    wgmma_wait_group<1>();
    fence_operands(s);
    if (lane == 0) mbarrier_arrive(bar.empty_k(k.slot));
    k.advance(apart);
    weigh(j);
    wgmma_wait_group<0>();
    fence_operands(o);
    fence_operands(prob);
    if (lane == 0) mbarrier_arrive(bar.empty_v(v.slot));
    v.advance(apart);
    rescale<S>(o, r);
    pack_probabilities<S>(prob, s);
  }
  mbarrier_wait_parity(bar.full_v(v.slot), v.parity);
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
  const uint32_t v_at = v_ring + v.slot * S::k_tile_bytes;
  accumulate<S, 0, S::BN / 32>(o, prob, v_at);
  wgmma_commit_group();
  if (!short_end) {
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    accumulate<S, S::BN / 32, S::BN / 16>(o, prob, v_at);
    wgmma_commit_group();
  }
  wgmma_wait_group<0>();
  fence_operands(o);
  if (lane == 0) mbarrier_arrive(bar.empty_v(v.slot));
  v.advance(apart);
  if constexpr (S::TRIM) {
    for (int j = own_steps; j < steps; ++j) pass_over<S>(bar, k, v, wg, lane);
  }
}

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
                                           int first_row, int warp, int lane) {
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
__device__ __forceinline__ void negate_query(unsigned char* q_tile, int wg, int thread) {
  uint4* words = reinterpret_cast<uint4*>(q_tile);
  for (int i = thread; i < S::k_q_group_bytes / 16; i += 128) {
    const uint4 x = words[i];
    words[i] =
        make_uint4(x.x ^ 0x80008000u, x.y ^ 0x80008000u, x.z ^ 0x80008000u, x.w ^ 0x80008000u);
  }
  fence_proxy_async_shared();
  barrier_sync(1 + S::WGS + wg, 128);
}

// A computing warpgroup: its 64 rows of every tile of the block.
template <class S>
__device__ __forceinline__ void work(const Params& p, unsigned char* smem, uint32_t base,
                                     const Barriers<S>& bar, int wg) {
  const int thread = threadIdx.x % 128, lane = thread % 32;
  const volatile int* indices = reinterpret_cast<const int*>(smem + S::k_indices);
  Place<S::STAGES> k, v;
  Place<S::MASKS> m;
  Place<S::QB> q;
  if (wg == S::WGS - 1) pass_turn<S>(wg);  // the first turn is warpgroup 0's
  for (;; q.advance()) {
    const int at = S::QB * wg + q.slot;
    mbarrier_wait_parity(bar.full_q(at), q.parity);
    const int index = indices[at];
    if (index < 0) break;
    unsigned char* q_tile = smem + at * S::k_q_group_bytes;
    const Tile t = tile_at<S>(p, index);
    const int first_row = t.first_row + S::k_rows_apart * wg;
    RowState r = start_rows(p, first_row, thread);
    float o[S::COLS / 8][4];
#pragma unroll
    for (int n = 0; n < S::COLS / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) o[n][c] = 0.0f;
    }
    if (p.negate) negate_query<S>(q_tile, wg, thread);
    if (t.steps > 0) {
      const uint32_t q_at = base + at * S::k_q_group_bytes;
      if constexpr (S::SPLIT) {
        Place<S::STAGES> own_k = k, own_v = v;
        own_k.advance(wg);
        own_v.advance(wg);
        walk_keys<S>(o, r, p, base, bar, own_k, own_v, m, q_at, t.steps, wg, thread / 32, lane);
        k.advance(t.steps);
        v.advance(t.steps);
      } else {
        walk_keys<S>(o, r, p, base, bar, k, v, m, q_at, t.steps, wg, thread / 32, lane);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      r.l[half] += __shfl_xor_sync(~0u, r.l[half], 1);
      r.l[half] += __shfl_xor_sync(~0u, r.l[half], 2);
    }
    if constexpr (S::SPLIT) {
      if (wg == 0) {
        merge<S>(o, r, p, smem, thread);
      } else {
        hand_over<S>(o, r, smem, thread);
      }
    }
    barrier_sync(1 + S::WGS + wg, 128);  // every warp has read Q: O overlays it
    if (!S::SPLIT || wg == 0) {
      store_rows<S>(o, r, p, q_tile, t, first_row, thread / 32, lane);
    }
    fence_proxy_async_shared();
    mbarrier_arrive(bar.empty_q(at));
  }
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, 1)
    wgmma_pingpong(const __grid_constant__ CUtensorMap map_q,
                   const __grid_constant__ CUtensorMap map_k,
                   const __grid_constant__ CUtensorMap map_v,
                   const __grid_constant__ CUtensorMap map_mask, const Params p) {
  // No static shared memory, so the dynamic part starts on 1024, as the swizzle needs.
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem);
  const Barriers<S> bar = {base + S::k_barriers};
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::STAGES; ++i) {
      mbarrier_init(bar.full_k(i), 1);
      mbarrier_init(bar.full_v(i), 1);
      mbarrier_init(bar.empty_k(i), S::k_readers);
      mbarrier_init(bar.empty_v(i), S::k_readers);
    }
    for (int i = 0; i < S::QB * S::WGS; ++i) {
      mbarrier_init(bar.full_q(i), 1);
      mbarrier_init(bar.empty_q(i), 128);
    }
    for (int i = 0; i < S::MASKS; ++i) {
      mbarrier_init(bar.full_mask(i), 1);
      mbarrier_init(bar.empty_mask(i), 4 * S::WGS);
    }
    fence_mbarrier_init();
    prefetch_tensormap(&map_q);
    prefetch_tensormap(&map_k);
    prefetch_tensormap(&map_v);
  }
  __syncthreads();
  const int warpgroup = __shfl_sync(~0u, int(threadIdx.x / 128), 0);
  if (warpgroup == 0) {
    setmaxnreg_dec<S::k_loader_registers>();
    if (threadIdx.x == 0) feed<S>(p, &map_q, &map_k, &map_v, &map_mask, smem, base, bar);
  } else {
    setmaxnreg_inc<S::k_worker_registers>();
    work<S>(p, smem, base, bar, warpgroup - 1);
  }
}

}  // namespace wb::gpu
