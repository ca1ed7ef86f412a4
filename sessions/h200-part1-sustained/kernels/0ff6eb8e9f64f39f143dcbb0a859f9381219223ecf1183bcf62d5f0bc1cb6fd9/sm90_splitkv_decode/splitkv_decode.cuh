// SPDX-License-Identifier: MIT
// The device part of sm90_splitkv_decode: shapes, stages as named functions, the kernel. Idea and
// host part: kernel.cu, its only user.
#pragma once

#include "cluster_merge.cuh"
#include "cp_async.cuh"
#include "griddepcontrol.cuh"
#include "mbarrier.cuh"
#include "packed_rows.cuh"
#include "quad_merge.cuh"

#ifndef BLOCK_WARPS  // warps of a block
#define BLOCK_WARPS 8
#endif
#ifndef EARLY_START  // start while the previous kernel drains: 0 never, 1 where it pays, 2 always
#define EARLY_START 1
#endif

namespace wb::gpu {

struct Params {
  MergeParams merge;
  PackedRows rows;
  const void* k;
  const void* v;
  wb_strides sk, sv;
  int heads_kv, dim_v;
  int kept_256;  // 256ths of the keys that the L2 is to keep; 256: no hints
};

// BPS blocks are meant to share an SM; each warp has `Stages` steps of 128 columns under way.
template <typename T_, int DP_, int NT_, int Stages, int BPS_>
struct Shape {
  using T = T_;
  static constexpr int DP = DP_, NT = NT_, MK = 1, BPS = BPS_;
  static constexpr int WK = BLOCK_WARPS;
  static constexpr int STAGES = Stages * 128 / DP > 0 ? Stages * 128 / DP : 1;
  static constexpr int k_rows = 8 * NT;
  static constexpr int k_threads = 32 * WK;
  static constexpr int k_step = 16;                     // keys of a warp's step
  static constexpr int k_line = DP * 2;                 // bytes of a key in shared memory
  static constexpr int k_tile_bytes = k_step * k_line;  // K or V of a step
  static constexpr int k_partial_stride = DP + 4;
  static constexpr int k_partial_bytes = k_rows * k_partial_stride * 4;
  static constexpr int k_ring_bytes = 2 * STAGES * k_tile_bytes > k_partial_bytes
                                          ? 2 * STAGES* k_tile_bytes
                                          : (k_partial_bytes + 127) / 128 * 128;
  static constexpr int k_partial_warp = k_ring_bytes / 4;  // a warp's partial overlays its ring
  static constexpr int k_merge = WK * k_ring_bytes;        // then what peers push into
  static constexpr int k_barrier = k_merge + MergeSmem<Shape>::k_bytes;
  static constexpr int k_smem_bytes = k_barrier + 16;
};

// What a lane needs to fetch its part of a tile: an instruction of the warp covers whole rows, 512
// bytes together; this lane takes 16-byte unit `unit` of every row `row` plus a multiple of them.
template <class S>
struct LaneSource {
  static constexpr int units = S::DP / 8;
  static constexpr int columns = units > 32 ? units / 32 : 1;
  static constexpr int rows = 32 * columns / units;
  const typename S::T* at;  // row `row`, unit `unit` of the head's first key
  int64_t stride;
  int dim;
};

template <class S>
__device__ __forceinline__ LaneSource<S> lane_source(const void* tensor, const wb_strides& s,
                                                     int batch, int head, int dim, int lane) {
  using L = LaneSource<S>;
  const int unit = lane % (L::units / L::columns), row = lane / (L::units / L::columns);
  return {static_cast<const typename S::T*>(tensor) + batch * s.batch + head * s.head +
              row * s.row + unit * 8,
          s.row, dim};
}

// Keeps a value that was worked out above this point from being worked out below it.
template <typename P>
__device__ __forceinline__ void settle(const P*& pointer) {
  asm volatile("" : "+l"(pointer));
}

// One warp fetches 16 keys from `first` on. Steps inside the tensor need no tests; `streamed` ones
// are the first to leave the L2.
template <class S>
__device__ __forceinline__ void load_keys(uint32_t smem, const LaneSource<S>& src, int first,
                                          int seq_kv, int lane, bool streamed, uint64_t policy) {
  using L = LaneSource<S>;
  const int unit = lane % (L::units / L::columns), row = lane / (L::units / L::columns);
  const typename S::T* from = src.at + first * src.stride;
  const int64_t hop = L::rows * src.stride;
  // (i + row) % 8 is (i % 8) ^ row: i is a multiple of `rows`, row is less.
  const auto to = [&](int i, int c) {
    return smem + (row + i) * S::k_line + (((unit + 32 * c) ^ row ^ (i & 7)) << 4);
  };
  if (first + S::k_step <= seq_kv && src.dim == S::DP) {
    if (streamed) {
#pragma unroll
      for (int i = 0; i < S::k_step; i += L::rows, from += hop) {
#pragma unroll
        for (int c = 0; c < L::columns; ++c) cp_async_cg_hint(to(i, c), from + 256 * c, policy);
      }
    } else {
#pragma unroll
      for (int i = 0; i < S::k_step; i += L::rows, from += hop) {
#pragma unroll
        for (int c = 0; c < L::columns; ++c) cp_async_cg(to(i, c), from + 256 * c);
      }
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < S::k_step; i += L::rows, from += hop) {
#pragma unroll
    for (int c = 0; c < L::columns; ++c) {
      const bool valid = first + i + row < seq_kv && (unit + 32 * c) * 8 < src.dim;
      const typename S::T* inside = src.at - row * src.stride - unit * 8;
      cp_async_cg_zfill(to(i, c), valid ? from + 256 * c : inside, valid);
    }
  }
}

// Walks the warp's steps first, first + WK, ... below `last`. shift: of those that the L2 keeps.
template <class S>
__device__ __forceinline__ void walk_keys(WarpState<S>& w, const Params& p, const LaneSource<S>& k,
                                          const LaneSource<S>& v, const uint32_t* const (&q)[S::NT],
                                          uint32_t ring, int first, int last, int shift,
                                          uint64_t policy, int lane) {
  const auto load_k = [&](int step, int slot) {
    load_keys<S>(ring + 2 * slot * S::k_tile_bytes, k, step * S::k_step, p.rows.seq_kv, lane,
                 !stays_in_l2(step + shift, p.kept_256), policy);
  };
  const auto load_v = [&](int step, int slot) {
    load_keys<S>(ring + (2 * slot + 1) * S::k_tile_bytes, v, step * S::k_step, p.rows.seq_kv, lane,
                 !stays_in_l2(step + shift, p.kept_256), policy);
  };
  const auto line = [](uint32_t tile, int row, int unit) {
    return tile + row * S::k_line + ((unit ^ (row & 7)) << 4);
  };
#pragma unroll
  for (int stage = 0; stage < S::STAGES; ++stage) {
    const int step = first + stage * S::WK;
    if (step < last) load_k(step, stage);
    cp_async_commit_group();
    if (step < last) load_v(step, stage);
    cp_async_commit_group();
  }
  fetch_query<S>(w, q, p.rows.dim,
                 lane);  // after K and V: before them it cost 0.35 us
  int slot = 0;
  for (int step = first; step < last; step += S::WK) {
    const uint32_t k_at = ring + 2 * slot * S::k_tile_bytes, v_at = k_at + S::k_tile_bytes;
    const int next = step + S::STAGES * S::WK;
    float s[1][S::NT][4];
    uint32_t prob[1][S::NT][2];
    cp_async_wait_group<2 * S::STAGES - 1>();
    __syncwarp();  // the other lanes' parts of K have landed too
    score<S>(
        s, w, [&](int row, int unit) { return line(k_at, row, unit); }, lane, p.rows.scale_log2);
    __syncwarp();  // K's readers are done
    if (next < last) load_k(next, slot);
    cp_async_commit_group();
    const int first_key = step * S::k_step;
    if (first_key + S::k_step - 1 > w.least_limit) mask_scores<S>(s, w, first_key, lane);
    softmax<S>(prob, s, w);
    cp_async_wait_group<2 * S::STAGES - 1>();
    __syncwarp();
    accumulate<S>(
        w, prob, [&](int row, int unit) { return line(v_at, row, unit); }, lane);
    __syncwarp();
    if (next < last) load_v(next, slot);
    cp_async_commit_group();
    if (++slot == S::STAGES) slot = 0;
  }
  cp_async_wait_group<0>();
}

// `Quads`: the cluster holds the head alone and a thread has one quad to merge.
template <class S, bool Quads>
__global__ void __launch_bounds__(S::k_threads, S::BPS) splitkv_decode(const Params p) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem), barrier = base + S::k_barrier;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = blockIdx.y * S::k_rows;
  const int batch = blockIdx.z / p.heads_kv, head_kv = blockIdx.z % p.heads_kv;
  const int live_rows = min(S::k_rows, p.rows.rows - first_row);

  // Keys that the last row of this block may still see, then this split's share of the steps.
  const int64_t last_query = (first_row + live_rows - 1) / p.rows.group;
  const int keys =
      int(max(int64_t(0), min(int64_t(p.rows.seq_kv), last_query + p.rows.causal_offset + 1)));
  const int steps = (keys + S::k_step - 1) / S::k_step;
  const int first = int(int64_t(steps) * blockIdx.x / gridDim.x);
  const int last = int(int64_t(steps) * (blockIdx.x + 1) / gridDim.x);

  const Slice slice = slice_of<S>(cluster_nctarank(), cluster_ctarank(), live_rows);
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(barrier, merge_bytes(slice, live_rows));
  }
  __syncthreads();
  barrier_cluster_arrive_relaxed();  // peers may push into this block from here on
#if EARLY_START
  griddepcontrol_launch_dependents();
#endif

  // All that needs no data, before the wait for the previous kernel.
  LaneSource<S> k = lane_source<S>(p.k, p.sk, batch, head_kv, p.rows.dim, lane);
  LaneSource<S> v = lane_source<S>(p.v, p.sv, batch, head_kv, p.dim_v, lane);
  const uint32_t* q[S::NT];
  query_sources<S>(q, p.rows, batch, head_kv, first_row, lane);
  const uint64_t policy = createpolicy_evict_first();
  WarpState<S> w;
  start_rows<S>(w, p.rows, first_row, lane);
  QuadMerge<S> quad;
  if constexpr (Quads) {
    quad = plan_quads<S>(p.merge, base + S::k_merge, barrier, batch, head_kv, first_row, live_rows,
                         slice);
  }
  settle(k.at);
  settle(v.at);
#pragma unroll
  for (int n = 0; n < S::NT; ++n) settle(q[n]);
#if EARLY_START
  griddepcontrol_wait();
#endif

  float* partial = reinterpret_cast<float*>(smem);
  float2* warp_ml = reinterpret_cast<float2*>(smem + S::k_merge + MergeSmem<S>::k_warp_ml);
  walk_keys<S>(w, p, k, v, q, base + warp * S::k_ring_bytes, first + warp, last,
               int(blockIdx.z) * 37, policy, lane);
  __syncwarp();  // this warp's ring is read: its partial overlays it
  store_warp_partial<S>(w, partial, warp_ml, 0, warp, lane);
  __syncthreads();
  barrier_cluster_wait();
  if constexpr (Quads) {
    give_quad<S>(quad, base, base + S::k_merge, slice.ranks);
    take_quad<S>(quad, barrier, slice.ranks);
  } else {
    merge_and_store<S>(p.merge, partial, smem + S::k_merge, barrier, batch, head_kv, first_row,
                       live_rows, slice);
  }
}

}  // namespace wb::gpu
