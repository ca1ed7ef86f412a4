// SPDX-License-Identifier: MIT
// The device part of sm90_splitkv_decode: shapes, stages as named functions, the kernel. Idea and
// host part: kernel.cu, its only user.
#pragma once

#include "sm80/cp_async.cuh"
#include "sm80/packed_rows.cuh"
#include "sm90/cluster_merge.cuh"
#include "sm90/griddepcontrol.cuh"
#include "sm90/mbarrier.cuh"
#include "sm90/quad_merge.cuh"

#ifndef BLOCK_WARPS  // warps of a block
#define BLOCK_WARPS 8
#endif
#ifndef EARLY_START  // start while the previous kernel drains: 0 never, 1 where it pays, 2 always
#define EARLY_START 1
#endif
#ifndef FLAG_MERGE  // over clusters: 1 by messages that carry their flags, 0 by tickets and fences
#define FLAG_MERGE 1
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

// BPS blocks are meant to share an SM; each warp has `Keys` keys of 128 columns under way, others
// in proportion, in steps of 16 * MK keys.
template <typename T_, int DP_, int NT_, int MK_, int Keys, int BPS_>
struct Shape {
  using T = T_;
  static constexpr int DP = DP_, NT = NT_, MK = MK_, BPS = BPS_;
  static constexpr int WK = BLOCK_WARPS;
  static constexpr int k_rows = 8 * NT;
  static constexpr int k_threads = 32 * WK;
  static constexpr int k_step = 16 * MK;                // keys of a warp's step
  static constexpr int k_line = DP * 2;                 // bytes of a key in shared memory
  static constexpr int k_tile_bytes = k_step * k_line;  // K or V of a step
  static constexpr int k_wanted = (Keys * 128 + DP * k_step / 2) / (DP * k_step);  // rounded
  static constexpr int k_most = 200 * 1024 / (2 * k_tile_bytes * WK * BPS);        // that fit
  static constexpr int k_stages = k_wanted < k_most ? k_wanted : k_most;
  static constexpr int STAGES = k_stages > 0 ? k_stages : 1;
  static constexpr int k_partial_stride = DP + 4;
  static constexpr int k_partial_bytes = k_rows * k_partial_stride * 4;
  static constexpr int k_ring_bytes = 2 * STAGES * k_tile_bytes > k_partial_bytes
                                          ? 2 * STAGES* k_tile_bytes
                                          : (k_partial_bytes + 127) / 128 * 128;
  static constexpr int k_partial_warp = k_ring_bytes / 4;  // a warp's partial overlays its ring
  static constexpr int k_merge = WK * k_ring_bytes;        // then what peers push into
  static constexpr int k_barrier = k_merge + MergeSmem<Shape>::k_bytes;
  static constexpr int k_smem_bytes = k_barrier + 16;

  // Which 16-byte unit of its line a unit of a row lies in: eight rows' units are in eight banks,
  // whatever of 64 to 256 columns a line has. Linear in the bits of the row.
  static __device__ __forceinline__ int swizzled(int row, int unit) {
    constexpr int units = DP / 8;
    static_assert(units % 2 == 0);
    if (units % 8 == 0) return unit ^ (row & 7);
    if (units % 4 == 0) return unit ^ (row >> 1 & 3);
    return unit ^ (row >> 2 & 1);
  }
};

// What a lane needs to fetch its part of a tile: an instruction of the warp covers `rows` rows;
// this lane takes 16-byte unit `unit` of every row `row` plus a multiple of them, if there is one.
template <class S>
struct LaneSource {
  static constexpr int units = S::DP / 8;
  static constexpr int lanes = units > 16 ? 32 : units > 8 ? 16 : 8;  // of a row
  static constexpr int rows = 32 / lanes;
  const typename S::T* at;  // row `row`, unit `unit` of the head's first key
  int64_t stride;
  int dim;
};

template <class S>
__device__ __forceinline__ LaneSource<S> lane_source(const void* tensor, const wb_strides& s,
                                                     int batch, int head, int dim, int lane) {
  using L = LaneSource<S>;
  const int unit = lane % L::lanes, row = lane / L::lanes;
  return {static_cast<const typename S::T*>(tensor) + batch * s.batch + head * s.head +
              row * s.row + unit * 8,
          s.row, dim};
}

// One warp fetches a step's keys from `first` on. Columns that do not exist are zeros, written once
// a stage of the ring (`fresh`). `streamed` steps are the first to leave the L2.
template <class S>
__device__ __forceinline__ void load_keys(uint32_t smem, const LaneSource<S>& src, int first,
                                          int seq_kv, int lane, bool fresh, bool streamed,
                                          uint64_t policy) {
  using L = LaneSource<S>;
  const int unit = lane % L::lanes, row = lane / L::lanes;
  const typename S::T* from = src.at + first * src.stride;
  const int64_t hop = L::rows * src.stride;
  // i is a multiple of `rows`, row is less.
  const auto to = [&](int i) {
    return smem + (row + i) * S::k_line + (S::swizzled(i, S::swizzled(row, unit)) << 4);
  };
  if (first + S::k_step > seq_kv || (fresh && src.dim != S::DP)) {
    if (unit >= L::units) return;
#pragma unroll
    for (int i = 0; i < S::k_step; i += L::rows, from += hop) {
      const bool valid = first + i + row < seq_kv && unit * 8 < src.dim;
      cp_async_cg_zfill(to(i), valid ? from : src.at - row * src.stride - unit * 8, valid);
    }
    return;
  }
  const bool wanted = unit * 8 < src.dim;
  if (streamed) {
#pragma unroll
    for (int i = 0; i < S::k_step; i += L::rows, from += hop) {
      cp_async_cg_hint_if(to(i), from, policy, wanted);
    }
  } else {
#pragma unroll
    for (int i = 0; i < S::k_step; i += L::rows, from += hop) cp_async_cg_if(to(i), from, wanted);
  }
}

// The mainloop of a warp: its steps first, first + WK, ... below `last`. shift: of those that the
// L2 keeps.
template <class S>
__device__ __forceinline__ void mainloop(WarpState<S>& w, const Params& p, const LaneSource<S>& k,
                                         const LaneSource<S>& v, const uint32_t* const (&q)[S::NT],
                                         uint32_t ring, int first, int last, int shift,
                                         uint64_t policy, int lane) {
  const auto load_k = [&](int step, int stage, bool fresh) {
    load_keys<S>(ring + 2 * stage * S::k_tile_bytes, k, step * S::k_step, p.rows.seq_kv, lane,
                 fresh, !stays_in_l2(step + shift, p.kept_256), policy);
  };
  const auto load_v = [&](int step, int stage, bool fresh) {
    load_keys<S>(ring + (2 * stage + 1) * S::k_tile_bytes, v, step * S::k_step, p.rows.seq_kv, lane,
                 fresh, !stays_in_l2(step + shift, p.kept_256), policy);
  };
  const auto line = [](uint32_t tile, int row, int unit) {
    return tile + row * S::k_line + (S::swizzled(row, unit) << 4);
  };
#pragma unroll
  for (int stage = 0; stage < S::STAGES; ++stage) {
    const int step = first + stage * S::WK;
    if (step < last) load_k(step, stage, true);
    cp_async_commit_group();
    if (step < last) load_v(step, stage, true);
    cp_async_commit_group();
  }
  fetch_query<S>(w, q, p.rows.dim,
                 lane);  // after K and V: before them it cost 0.35 us
  int stage = 0;
  for (int step = first; step < last; step += S::WK) {
    const uint32_t k_at = ring + 2 * stage * S::k_tile_bytes, v_at = k_at + S::k_tile_bytes;
    const int next = step + S::STAGES * S::WK;
    float s[S::MK][S::NT][4];
    uint32_t prob[S::MK][S::NT][2];
    cp_async_wait_group<2 * S::STAGES - 1>();
    __syncwarp();  // the other lanes' parts of K have landed too
    gemm_qk<S>(
        s, w, [&](int row, int unit) { return line(k_at, row, unit); }, lane, p.rows.scale_log2);
    __syncwarp();  // K's readers are done
    if (next < last) load_k(next, stage, false);
    cp_async_commit_group();
    const int first_key = step * S::k_step;
    if (first_key + S::k_step - 1 > w.least_limit) mask_scores<S>(s, w, first_key, lane);
    softmax<S>(prob, s, w);
    cp_async_wait_group<2 * S::STAGES - 1>();
    __syncwarp();
    gemm_pv<S>(
        w, prob, [&](int row, int unit) { return line(v_at, row, unit); }, lane);
    __syncwarp();
    if (next < last) load_v(next, stage, false);
    cp_async_commit_group();
    if (++stage == S::STAGES) stage = 0;
  }
  cp_async_wait_group<0>();
}

enum class Merge {
  general,  // for blocks that share an SM: costs the fewest registers
  cluster,  // quads in one cluster of up to eight blocks
  spread,   // quads in larger clusters and over several
};

template <class S, Merge Form>
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
  init_rows<S>(w, p.rows, first_row, lane);
  SentQuad<S> sent[k_quads<S>];
  OwnedQuad<S> owned[k_quads<S>];
  constexpr bool quads = Form != Merge::general, spread = Form == Merge::spread;
  constexpr bool early_quads = quads && k_quads<S> == 1;  // else they cost too many registers
  if constexpr (early_quads) {
    plan_sent<S>(sent, base + S::k_merge, barrier, live_rows, slice);
    plan_owned<S>(owned, p.merge, base + S::k_merge, batch, head_kv, first_row, slice);
  }
  compute_before_wait(k.at);
  compute_before_wait(v.at);
#pragma unroll
  for (int n = 0; n < S::NT; ++n) compute_before_wait(q[n]);
#if EARLY_START
  griddepcontrol_wait();
#endif

  float* partial = reinterpret_cast<float*>(smem);
  float2* warp_ml = reinterpret_cast<float2*>(smem + S::k_merge + MergeSmem<S>::k_warp_ml);
  mainloop<S>(w, p, k, v, q, base + warp * S::k_ring_bytes, first + warp, last,
              int(blockIdx.z) * 37, policy, lane);
  __syncwarp();  // this warp's ring is read: its partial overlays it
  store_warp_partial<S>(w, partial, warp_ml, 0, warp, lane);
  if constexpr (quads && !early_quads) {
    plan_sent<S>(sent, base + S::k_merge, barrier, live_rows, slice);
    plan_owned<S>(owned, p.merge, base + S::k_merge, batch, head_kv, first_row, slice);
  }
  __syncthreads();
  barrier_cluster_wait();
  if constexpr (quads) {
    constexpr bool flags = FLAG_MERGE != 0;
    QuadWorkspace<S> space;
    if constexpr (spread) space = quad_workspace<S>(p.merge, slice);
    send_quads<S, spread, flags>(sent, owned, space, base, base + S::k_merge, slice.ranks);
    receive_quads<S, spread, flags>(owned, space, barrier, slice);
    if constexpr (spread && !flags) {
      gather_clusters<S>(owned, space,
                         reinterpret_cast<uint32_t*>(smem + S::k_merge + MergeSmem<S>::k_warp_ml));
    }
  } else {
    merge_and_store<S>(p.merge, partial, smem + S::k_merge, barrier, batch, head_kv, first_row,
                       live_rows, slice);
  }
}

}  // namespace wb::gpu
