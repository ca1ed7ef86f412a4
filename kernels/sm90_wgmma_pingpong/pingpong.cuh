// SPDX-License-Identifier: MIT
// The device part of sm90_wgmma_pingpong: shapes, stages as named functions, the kernel. Idea and
// host part: kernel.cu, its only user.
#pragma once

#include "mbarrier.cuh"
#include "mma.cuh"
#include "sdpa_abi.h"
#include "tma.cuh"
#include "warpgroup.cuh"
#include "wgmma.cuh"

#include <cmath>
#include <cstdint>

#ifndef PING_PONG  // 1: the computing warpgroups take turns; 0: nothing orders them
#define PING_PONG 1
#endif

namespace wb::gpu {

struct Params {
  void* out;
  float* lse;
  int* counter;  // tiles handed out beyond the first of each block; nullptr: one tile a block
  wb_strides so;
  int heads_q, group, seq_q, seq_kv, dim_v;
  int causal_offset;  // a row keeps key <= query + offset; seq_kv without a causal rule
  int row_blocks, tiles;
  int heads, section_heads;  // heads of all batches; how many of them are walked side by side
  bool negate;               // the scale's sign, folded into Q
  float scale_log2;          // magnitude, above zero
};

// WGS computing warpgroups of 64 rows and one that loads; BN keys a step.
template <typename T_, int DP_, int WGS_, int BN_, int STAGES_>
struct Shape {
  using T = T_;
  static constexpr int DP = DP_, WGS = WGS_, BN = BN_, STAGES = STAGES_;
  static constexpr int k_rows = 64 * WGS;
  static constexpr int k_threads = 128 * (WGS + 1);
  static constexpr int k_loader_registers = WGS == 3 ? 32 : 40;
  static constexpr int k_worker_registers = WGS == 3 ? 160 : 232;
  static constexpr int k_q_group_bytes = 64 * DP * 2;  // of one warpgroup
  static constexpr int k_tile_bytes = BN * DP * 2;
  static constexpr int k_k_ring = 2 * WGS * k_q_group_bytes;  // offsets; Q is double-buffered
  static constexpr int k_v_ring = k_k_ring + STAGES * k_tile_bytes;
  static constexpr int k_barriers = k_v_ring + STAGES * k_tile_bytes;
  static constexpr int k_indices = k_barriers + 256;  // of the tiles that Q belongs to
  static constexpr int k_smem_bytes = k_indices + 64;
  static_assert(k_smem_bytes <= 227 * 1024);
};

template <class S>
struct Barriers {
  uint32_t base;
  __device__ uint32_t full_k(int slot) const { return base + 8 * slot; }
  __device__ uint32_t full_v(int slot) const { return base + 8 * (S::STAGES + slot); }
  __device__ uint32_t empty_k(int slot) const { return base + 8 * (2 * S::STAGES + slot); }
  __device__ uint32_t empty_v(int slot) const { return base + 8 * (3 * S::STAGES + slot); }
  __device__ uint32_t full_q(int q) const { return base + 8 * (4 * S::STAGES + q); }
  __device__ uint32_t empty_q(int q) const { return base + 8 * (4 * S::STAGES + 2 * S::WGS + q); }
};

// A place in a ring of Stages slots; the parity changes with every turn.
template <int Stages>
struct Place {
  int slot = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++slot == Stages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

struct Tile {
  int batch, head, first_row, steps;
};

// Tiles are numbered section by section; within a section row blocks with more keys come first.
template <class S>
__device__ __forceinline__ Tile tile_at(const Params& p, int index) {
  const int section = index / (p.section_heads * p.row_blocks);
  const int first_head = section * p.section_heads;
  const int heads_here = min(p.section_heads, p.heads - first_head);
  const int rest = index - first_head * p.row_blocks;
  const int head = first_head + rest % heads_here;
  Tile t;
  t.first_row = (p.row_blocks - 1 - rest / heads_here) * S::k_rows;
  t.batch = head / p.heads_q;
  t.head = head % p.heads_q;
  const int last_query = min(t.first_row + S::k_rows, p.seq_q) - 1;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  t.steps = (keys + S::BN - 1) / S::BN;
  return t;
}

// The tile after the ones handed out so far, or p.tiles. There are as many hand-outs as tiles: the
// last one sets the counter back for the next call.
__device__ __forceinline__ int next_tile(const Params& p) {
  if (p.counter == nullptr) return p.tiles;
  const int handed = atomicAdd(p.counter, 1);
  if (handed == p.tiles - 1) *p.counter = 0;
  return int(min(int64_t(p.tiles), int64_t(handed) + gridDim.x));
}

template <int Rows, int DP>
__device__ __forceinline__ void load_box(uint32_t smem, const CUtensorMap* map, uint32_t barrier,
                                         int row, int head, int batch) {
  mbarrier_arrive_expect_tx(barrier, Rows * DP * 2);
#pragma unroll
  for (int slab = 0; slab < DP / 64; ++slab) {
    cp_async_bulk_tensor_4d(smem + slab * Rows * 128, map, barrier, slab * 64, row, head, batch);
  }
}

// The loading thread: for each tile its index and Q for every warpgroup, then K one step ahead of
// V, the order in which they are read. A tile is taken when the one before is loaded, which is a
// few steps before it is finished.
template <class S>
__device__ __forceinline__ void feed(const Params& p, const CUtensorMap* map_q,
                                     const CUtensorMap* map_k, const CUtensorMap* map_v,
                                     unsigned char* smem, uint32_t base, const Barriers<S>& bar) {
  int* indices = reinterpret_cast<int*>(smem + S::k_indices);
  Place<S::STAGES> k, v;
  Place<2> q;
  for (int index = blockIdx.x; index < p.tiles; index = next_tile(p)) {
    const Tile t = tile_at<S>(p, index);
    const int head_kv = t.head / p.group;
    for (int wg = 0; wg < S::WGS; ++wg) {
      const int at = 2 * wg + q.slot;
      mbarrier_wait_parity(bar.empty_q(at), q.parity ^ 1);
      indices[at] = index;
      load_box<64, S::DP>(base + at * S::k_q_group_bytes, map_q, bar.full_q(at),
                          t.first_row + 64 * wg, t.head, t.batch);
    }
    q.advance();
    const auto load_k = [&](int step) {
      mbarrier_wait_parity(bar.empty_k(k.slot), k.parity ^ 1);
      load_box<S::BN, S::DP>(base + S::k_k_ring + k.slot * S::k_tile_bytes, map_k,
                             bar.full_k(k.slot), step * S::BN, head_kv, t.batch);
      k.advance();
    };
    if (t.steps > 0) load_k(0);
    for (int step = 0; step < t.steps; ++step) {
      if (step + 1 < t.steps) load_k(step + 1);
      mbarrier_wait_parity(bar.empty_v(v.slot), v.parity ^ 1);
      load_box<S::BN, S::DP>(base + S::k_v_ring + v.slot * S::k_tile_bytes, map_v,
                             bar.full_v(v.slot), step * S::BN, head_kv, t.batch);
      v.advance();
    }
  }
  for (int wg = 0; wg < S::WGS; ++wg) {
    const int at = 2 * wg + q.slot;
    mbarrier_wait_parity(bar.empty_q(at), q.parity ^ 1);
    indices[at] = -1;
    mbarrier_arrive(bar.full_q(at));
  }
}

// S = Q K^T, issued; the caller commits and waits.
template <class S>
__device__ __forceinline__ void score(float (&s)[S::BN / 8][4], uint32_t q_at, uint32_t k_at) {
#pragma unroll
  for (int ks = 0; ks < S::DP / 16; ++ks) {
    const uint32_t column = ks % 4 * 32;
    wgmma_ss<typename S::T, S::BN / 8>(
        s, wgmma_descriptor_k_major(q_at + ks / 4 * (64 * 128) + column),
        wgmma_descriptor_k_major(k_at + ks / 4 * (S::BN * 128) + column), ks > 0);
  }
}

// O += P V, issued.
template <class S>
__device__ __forceinline__ void accumulate(float (&o)[S::DP / 8][4],
                                           const uint32_t (&prob)[S::BN / 16][4], uint32_t v_at) {
#pragma unroll
  for (int ks = 0; ks < S::BN / 16; ++ks) {
    wgmma_rs<typename S::T, S::DP / 8>(
        o, prob[ks], wgmma_descriptor_mn_major(v_at + ks * (16 * 128), S::BN * 128));
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
__device__ __forceinline__ void rescale(float (&o)[S::DP / 8][4], const RowState& r) {
#pragma unroll
  for (int n = 0; n < S::DP / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) o[n][c] *= r.alpha[c / 2];
  }
}

// Whose products are next: warpgroup wg waits on barrier 1 + wg, and hands on to the next one.
template <class S>
__device__ __forceinline__ void await_turn(int wg) {
  if (PING_PONG) barrier_sync(1 + wg, 256);
}

template <class S>
__device__ __forceinline__ void pass_turn(int wg) {
  if (PING_PONG) barrier_arrive(1 + (wg + 1 == S::WGS ? 0 : wg + 1), 256);
}

// The steps of one tile. Step j: Q K(j) and P(j-1) V(j-1) are issued together in this warpgroup's
// turn; the softmax of step j overlaps the latter, and the products of the other warpgroups.
template <class S>
__device__ __forceinline__ void walk_keys(float (&o)[S::DP / 8][4], RowState& r, const Params& p,
                                          uint32_t base, const Barriers<S>& bar,
                                          Place<S::STAGES>& k, Place<S::STAGES>& v, uint32_t q_at,
                                          int steps, int wg, int lane) {
  const uint32_t k_ring = base + S::k_k_ring, v_ring = base + S::k_v_ring;
  float s[S::BN / 8][4];
  uint32_t prob[S::BN / 16][4];
  const auto mask = [&](int j) {
    const int first_key = j * S::BN;
    if (first_key + S::BN - 1 > r.least_limit) mask_scores<S>(s, r, first_key, lane);
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
  k.advance();
  mask(0);
  softmax<S>(s, r, p.scale_log2);
  pack_probabilities<S>(prob, s);

  for (int j = 1; j < steps; ++j) {
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
    accumulate<S>(o, prob, v_ring + v.slot * S::k_tile_bytes);
    wgmma_commit_group();
    pass_turn<S>(wg);
    wgmma_wait_group<1>();
    fence_operands(s);
    if (lane == 0) mbarrier_arrive(bar.empty_k(k.slot));
    k.advance();
    mask(j);
    softmax<S>(s, r, p.scale_log2);
    wgmma_wait_group<0>();
    fence_operands(o);
    fence_operands(prob);
    if (lane == 0) mbarrier_arrive(bar.empty_v(v.slot));
    v.advance();
    rescale<S>(o, r);
    pack_probabilities<S>(prob, s);
  }
  mbarrier_wait_parity(bar.full_v(v.slot), v.parity);
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
  accumulate<S>(o, prob, v_ring + v.slot * S::k_tile_bytes);
  wgmma_commit_group();
  wgmma_wait_group<0>();
  fence_operands(o);
  if (lane == 0) mbarrier_arrive(bar.empty_v(v.slot));
  v.advance();
}

// O through the warp's own rows of the warpgroup's Q tile, then out in 16-byte pieces.
template <class S>
__device__ __forceinline__ void store_rows(const float (&o)[S::DP / 8][4], const RowState& r,
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
    for (int n = 0; n < S::DP / 8; ++n) {
      *reinterpret_cast<uint32_t*>(at(row, n) + 4 * pair) =
          pack2<T>(o[n][2 * half] * inverse, o[n][2 * half + 1] * inverse);
    }
    if (p.lse != nullptr && pair == 0 && first_row + row < p.seq_q) {
      p.lse[(int64_t(t.batch) * p.heads_q + t.head) * p.seq_q + first_row + row] =
          l > 0.0f ? r.m[half] * p.scale_log2 * k_ln_2 + logf(l) : -INFINITY;
    }
  }
  __syncwarp();
  T* out = static_cast<T*>(p.out) + t.batch * p.so.batch + t.head * p.so.head;
  constexpr int units = S::DP / 8;
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
  Place<2> q;
  if (wg == S::WGS - 1) pass_turn<S>(wg);  // the first turn is warpgroup 0's
  for (;; q.advance()) {
    const int at = 2 * wg + q.slot;
    mbarrier_wait_parity(bar.full_q(at), q.parity);
    const int index = indices[at];
    if (index < 0) break;
    unsigned char* q_tile = smem + at * S::k_q_group_bytes;
    const Tile t = tile_at<S>(p, index);
    const int first_row = t.first_row + 64 * wg;
    RowState r = start_rows(p, first_row, thread);
    float o[S::DP / 8][4];
#pragma unroll
    for (int n = 0; n < S::DP / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) o[n][c] = 0.0f;
    }
    if (p.negate) negate_query<S>(q_tile, wg, thread);
    if (t.steps > 0) {
      const uint32_t q_at = base + at * S::k_q_group_bytes;
      walk_keys<S>(o, r, p, base, bar, k, v, q_at, t.steps, wg, lane);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      r.l[half] += __shfl_xor_sync(~0u, r.l[half], 1);
      r.l[half] += __shfl_xor_sync(~0u, r.l[half], 2);
    }
    barrier_sync(1 + S::WGS + wg, 128);  // every warp has read Q: O overlays it
    store_rows<S>(o, r, p, q_tile, t, first_row, thread / 32, lane);
    fence_proxy_async_shared();
    __syncwarp();
    if (lane == 0) mbarrier_arrive(bar.empty_q(at));
  }
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, 1)
    wgmma_pingpong(const __grid_constant__ CUtensorMap map_q,
                   const __grid_constant__ CUtensorMap map_k,
                   const __grid_constant__ CUtensorMap map_v, const Params p) {
  // No static shared memory, so the dynamic part starts on 1024, as the swizzle needs.
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem);
  const Barriers<S> bar = {base + S::k_barriers};
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::STAGES; ++i) {
      mbarrier_init(bar.full_k(i), 1);
      mbarrier_init(bar.full_v(i), 1);
      mbarrier_init(bar.empty_k(i), 4 * S::WGS);
      mbarrier_init(bar.empty_v(i), 4 * S::WGS);
    }
    for (int i = 0; i < 2 * S::WGS; ++i) {
      mbarrier_init(bar.full_q(i), 1);
      mbarrier_init(bar.empty_q(i), 4);
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
    if (threadIdx.x == 0) feed<S>(p, &map_q, &map_k, &map_v, smem, base, bar);
  } else {
    setmaxnreg_inc<S::k_worker_registers>();
    work<S>(p, smem, base, bar, warpgroup - 1);
  }
}

}  // namespace wb::gpu
