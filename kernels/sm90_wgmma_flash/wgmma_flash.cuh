// SPDX-License-Identifier: MIT
// The device part of sm90_wgmma_flash: stages as named functions, the kernel. Idea and host part:
// kernel.cu, its only user.
#pragma once

#include "loads.cuh"
#include "sm80/cp_async.cuh"
#include "sm80/mma.cuh"
#include "sm90/accumulator_merge.cuh"
#include "sm90/cluster_merge.cuh"
#include "sm90/cluster_pull.cuh"
#include "sm90/griddepcontrol.cuh"
#include "sm90/online_softmax.cuh"
#include "sm90/row_store.cuh"
#include "sm90/wgmma_gemms.cuh"

#ifndef EARLY_START  // start while the previous kernel drains: 0 never, 1 where it pays, 2 always
#define EARLY_START 1
#endif

namespace wb::gpu {

// O through the warp's own rows of the Q tile, then out in 16-byte pieces.
template <class S>
__device__ __forceinline__ void store_rows(const float (&o)[S::DP / 8][4], const RowState& r,
                                           const Params& p, unsigned char* q_smem, int batch,
                                           int head_kv, int first_row, int warp, int lane) {
  using T = typename S::T;
  const int g = lane / 4, t = lane % 4;
  unsigned char* tile = q_smem + (warp / 4) * (64 * S::DP * 2);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp % 4 * 16 + 8 * half + g;
    const float inverse = r.l[half] > 0.0f ? 1.0f / r.l[half] : 0.0f;  // no key: zeros
    row_to_smem<T>(o, half, inverse, tile, row, 0, t);
    const int packed = first_row + warp / 4 * 64 + row;
    if (p.merge.lse != nullptr && t == 0 && packed < p.rows) {
      store_lse(p.merge, batch, head_kv, packed, r.m[half] * p.scale_log2, r.l[half]);
    }
  }
  __syncwarp();
  constexpr int units = S::DP / 8;
#pragma unroll 4
  for (int e = lane; e < 16 * units; e += 32) {
    const int row = warp % 4 * 16 + e / units, unit = e % units;
    const int packed = first_row + warp / 4 * 64 + row;
    if (packed >= p.rows || unit * 8 >= p.merge.dim_v) continue;
    const int query = packed / p.group, head = head_kv * p.group + packed % p.group;
    T* to = static_cast<T*>(p.merge.out) + batch * p.merge.so.batch + head * p.merge.so.head +
            query * p.merge.so.row + unit * 8;
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(swizzled_unit(tile, row, unit));
  }
}

template <class S>
__device__ __forceinline__ void store_partial(const float (&o)[S::DP / 8][4], const RowState& r,
                                              float* partial, float2* ml, float scale_log2,
                                              int warp, int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp * 16 + 8 * half + g;
#pragma unroll
    for (int n = 0; n < S::DP / 8; ++n) {
      *reinterpret_cast<float2*>(partial + row * S::k_partial_stride + 8 * n + 2 * t) =
          make_float2(o[n][2 * half], o[n][2 * half + 1]);
    }
    if (t == 0) ml[row] = make_float2(r.m[half] * scale_log2, r.l[half]);
  }
}

// The mainloop: the steps of this block. Step j: Q K(j) and P(j-1) V(j-1) are under way together;
// the softmax of step j overlaps the latter. One thread of the ring refills K's stage of step j-1
// and V's of step j-2.
template <class S>
__device__ __forceinline__ void mainloop(float (&o)[S::DP / 8][4], RowState& r, const Params& p,
                                         const CUtensorMap* map_k, const CUtensorMap* map_v,
                                         uint32_t base, uint32_t k_ring, const Barriers& bar,
                                         const Steps& steps, int head_kv, int batch, int lane) {
  using T = typename S::T;
  const uint32_t q_at = S::KS > 1 ? base : base + threadIdx.x / 128 * (64 * S::DP * 2);
  const uint32_t v_ring = k_ring + S::STAGES * S::k_tile_bytes;
  const bool loads = threadIdx.x % (S::k_threads / S::KS) == 0;
  float s[S::BN / 8][4];
  uint32_t prob[S::BN / 16][4];
  const auto mask = [&](int j) {
    const int first_key = (steps.first + j * S::KS) * S::BN;
    if (first_key + S::BN - 1 > r.least_limit) mask_scores(s, r, first_key, lane);
  };

  mbarrier_wait_parity(bar.full_k, 0);
  wgmma_fence();
  gemm_qk<T, S::DP>(s, q_at, k_ring);
  wgmma_commit_group();
  wgmma_wait_group<0>();
  fence_operands(s);
  if (lane == 0) mbarrier_arrive(bar.empty_k);
  mask(0);
  softmax<S::BN / 8, 1>(s, r, p.scale_log2);
  pack_probabilities<T>(prob, s);

  int stage = 0;  // of step j - 1
  uint32_t phase = 0;
  for (int j = 1; j < steps.count; ++j) {
    const int v_stage = stage;
    const uint32_t v_phase = phase;
    if (++stage == S::STAGES) {
      stage = 0;
      phase ^= 1;
    }
    mbarrier_wait_parity(bar.full_k + 8 * stage, phase);
    fence_operands(s);
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    gemm_qk<T, S::DP>(s, q_at, k_ring + stage * S::k_tile_bytes);
    wgmma_commit_group();
    mbarrier_wait_parity(bar.full_v + 8 * v_stage, v_phase);
    wgmma_fence();
    gemm_pv<T, 0, S::BN / 16>(o, prob, v_ring + v_stage * S::k_tile_bytes);
    wgmma_commit_group();
    if (loads) {
      // Every warp has read K(j - 1), or is about to have: its products are one step old.
      if (j - 1 + S::STAGES < steps.count) {
        mbarrier_wait_parity(bar.empty_k + 8 * v_stage, v_phase);
        load_tile<S>(k_ring + v_stage * S::k_tile_bytes, map_k, bar.full_k + 8 * v_stage, steps,
                     j - 1 + S::STAGES, head_kv, batch);
      }
      if (j >= 2 && j - 2 + S::STAGES < steps.count) {
        const int old = v_stage == 0 ? S::STAGES - 1 : v_stage - 1;
        mbarrier_wait_parity(bar.empty_v + 8 * old, v_stage == 0 ? v_phase ^ 1 : v_phase);
        load_tile<S>(v_ring + old * S::k_tile_bytes, map_v, bar.full_v + 8 * old, steps,
                     j - 2 + S::STAGES, head_kv, batch);
      }
    }
    __syncwarp();
    wgmma_wait_group<1>();
    fence_operands(s);
    if (lane == 0) mbarrier_arrive(bar.empty_k + 8 * stage);
    mask(j);
    softmax<S::BN / 8, 1>(s, r, p.scale_log2);
    wgmma_wait_group<0>();
    fence_operands(o);
    fence_operands(prob);
    if (lane == 0) mbarrier_arrive(bar.empty_v + 8 * v_stage);
    rescale(o, r.alpha);
    pack_probabilities<T>(prob, s);
  }
  mbarrier_wait_parity(bar.full_v + 8 * stage, phase);
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
  gemm_pv<T, 0, S::BN / 16>(o, prob, v_ring + stage * S::k_tile_bytes);
  wgmma_commit_group();
  wgmma_wait_group<0>();
  fence_operands(o);
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, S::BPS)
    wgmma_flash(const __grid_constant__ CUtensorMap map_k,
                const __grid_constant__ CUtensorMap map_v, const Params p) {
  // The kernel has no static shared memory, so the dynamic part starts on 1024, as the swizzle
  // needs.
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem);
  const int part = S::KS > 1 ? threadIdx.x / 128 : 0;  // which steps this warpgroup takes
  const uint32_t at = base + S::k_barriers + 8 + part * (32 * S::STAGES);
  const Barriers bar = {at, at + 8 * S::STAGES, at + 16 * S::STAGES, at + 24 * S::STAGES,
                        base + S::k_barriers};
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row_warp = S::KS > 1 ? warp % 4 : warp;
  const bool is_split = S::KS > 1 || gridDim.x > 1;
  const int batch = blockIdx.y / p.heads_kv, head_kv = blockIdx.y % p.heads_kv;
  // Later row blocks have more keys under a causal rule: launch them first.
  const int first_row = (p.row_blocks - 1 - int(blockIdx.z)) * S::k_rows;
  const int live_rows = min(S::k_rows, p.rows - first_row);

  const int last_query = (first_row + live_rows - 1) / p.group;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  const int tiles = (keys + S::BN - 1) / S::BN;
  const int first = int(unsigned(tiles) * blockIdx.x / gridDim.x);
  const int last = int(unsigned(tiles) * (blockIdx.x + 1) / gridDim.x);
  const Slice slice = slice_of<S>(cluster_nctarank(), cluster_ctarank(), live_rows);
  const bool pulls =
      is_split && slice.ranks == gridDim.x;  // no other cluster has keys of this head

  Steps steps;
  steps.first = first + part;
  steps.count = max(0, (last - first - part + S::KS - 1) / S::KS);
  steps.kept_256 = p.kept_256;
  steps.whole_rows = p.whole_rows;
  steps.policy = createpolicy_evict_first();
  const uint32_t k_ring = base + S::k_ring + part * S::k_ring_bytes;
  const bool loads = threadIdx.x % (S::k_threads / S::KS) == 0;
  if (loads) {
    for (int i = 0; i < S::STAGES; ++i) {
      mbarrier_init(bar.full_k + 8 * i, 1);
      mbarrier_init(bar.full_v + 8 * i, 1);
      mbarrier_init(bar.empty_k + 8 * i, 4 * S::WGS);
      mbarrier_init(bar.empty_v + 8 * i, 4 * S::WGS);
    }
    if (threadIdx.x == 0) mbarrier_init(bar.merge, 1);
    fence_mbarrier_init();
    if (threadIdx.x == 0 && is_split) {
      mbarrier_arrive_expect_tx(bar.merge, merge_bytes(slice, live_rows));
    }
#if EARLY_START
    griddepcontrol_launch_dependents();
    griddepcontrol_wait();
#endif
    const uint32_t v_ring = k_ring + S::STAGES * S::k_tile_bytes;
    for (int i = 0; i < S::STAGES && i < steps.count; ++i) {
      load_tile<S>(k_ring + i * S::k_tile_bytes, &map_k, bar.full_k + 8 * i, steps, i, head_kv,
                   batch);
      load_tile<S>(v_ring + i * S::k_tile_bytes, &map_v, bar.full_v + 8 * i, steps, i, head_kv,
                   batch);
    }
  }
#if EARLY_START
  if (!loads) {
    griddepcontrol_launch_dependents();
    griddepcontrol_wait();
  }
#endif
  __syncwarp();
  load_query<S>(smem, p, batch, head_kv, first_row);
  fence_proxy_async_shared();  // Q's writers, before wgmma reads
  __syncthreads();

  RowState r;
  r.least_limit = min(p.seq_kv - 1, (first_row + row_warp / 4 * 64) / p.group + p.causal_offset);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    r.m[half] = -INFINITY;
    r.l[half] = 0.0f;
    const int row = first_row + row_warp * 16 + 8 * half + lane / 4;
    r.limit[half] = min(p.seq_kv - 1, row / p.group + p.causal_offset);
  }
  float o[S::DP / 8][4];
  clear(o);
  if (steps.count > 0) {
    mainloop<S>(o, r, p, &map_k, &map_v, base, k_ring, bar, steps, head_kv, batch, lane);
  }
  reduce_row_sums(r);
  if (!is_split) {
    __syncthreads();  // the warpgroup's other warps read this warp's Q rows until here
    store_rows<S>(o, r, p, smem, batch, head_kv, first_row, warp, lane);
    return;
  }
  if constexpr (S::KS > 1) {
    if (pulls) {
      add_and_store<S>(o, r, p, smem, batch, head_kv, first_row, slice);
      return;
    }
  }
  __syncthreads();                       // the partials overlay Q and the ring
  if (!pulls) barrier_cluster_arrive();  // from here on peers may push, too
  float* partial = reinterpret_cast<float*>(smem) + part * S::k_partial_warp;
  float2* ml = reinterpret_cast<float2*>(smem + S::k_merge + MergeSmem<S>::k_warp_ml);
  store_partial<S>(o, r, partial, ml + part * S::k_rows, p.scale_log2, row_warp, lane);
  __syncthreads();
  if constexpr (S::KS == 1) {
    if (pulls) {
      pull_and_store<S>(p.merge, smem, batch, head_kv, first_row, slice);
      return;
    }
  }
  barrier_cluster_wait();
  merge_and_store<S>(p.merge, reinterpret_cast<float*>(smem), smem + S::k_merge, bar.merge, batch,
                     head_kv, first_row, live_rows, slice);
}

}  // namespace wb::gpu
