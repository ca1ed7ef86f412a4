// SPDX-License-Identifier: MIT
// The consumer warpgroups of sm90_wgmma_pingpong, stages as named functions, and the kernel. Idea
// and host part: kernel.cu, its only user.
#pragma once

#include "producer.cuh"
#include "sm90/online_softmax.cuh"
#include "sm90/prefill_epilogue.cuh"
#include "sm90/prefill_mask.cuh"
#include "sm90/row_store.cuh"
#include "sm90/wgmma_gemms.cuh"
#include "sm90/wgmma_widths.cuh"
#include "thirds.cuh"

namespace wb::gpu {

// A step of the tile that this warpgroup leaves out: it only passes the ordered barrier and
// advances its pipeline states.
template <class S>
__device__ __forceinline__ void skip_step(const Barriers<S>& bar, PipelineState<S::STAGES>& k,
                                          PipelineState<S::STAGES>& v, int wg, int lane) {
  mbarrier_wait_parity(bar.full_k(k.stage), k.phase);
  ordered_barrier_wait<S>(wg);
  ordered_barrier_arrive<S>(wg);
  if (lane == 0) mbarrier_arrive(bar.empty_k(k.stage));
  k.advance();
  mbarrier_wait_parity(bar.full_v(v.stage), v.phase);
  if (lane == 0) mbarrier_arrive(bar.empty_v(v.stage));
  v.advance();
}

// The steps of one tile. Step j: Q K(j) and P(j-1) V(j-1) are issued together under the ordered
// barrier; the softmax of step j overlaps the latter, and the products of the other warpgroups.
template <class S>
__device__ __forceinline__ void mainloop(float (&o)[S::COLS / 8][4], RowState& r, const Params& p,
                                         uint32_t base, const Barriers<S>& bar,
                                         PipelineState<S::STAGES>& k, PipelineState<S::STAGES>& v,
                                         PipelineState<S::MASKS>& m, uint32_t q_at, int steps,
                                         int wg, int warp, int lane) {
  using T = typename S::T;
  const uint32_t k_ring = base + S::k_k_ring, v_ring = base + S::k_v_ring;
  constexpr int apart = S::SPLIT ? S::WGS : 1;  // of this warpgroup's steps
  const int first = S::SPLIT ? wg : 0;
  const int own_steps =
      S::TRIM ? (r.keys + S::BN - 1) / S::BN : (steps - first + apart - 1) / apart;
  const bool short_end = S::TRIM && r.keys <= (own_steps - 1) * S::BN + S::k_short_keys;
  if ((S::TRIM || S::SPLIT) && own_steps == 0) {
    if constexpr (S::TRIM) {
      for (int j = 0; j < steps; ++j) skip_step<S>(bar, k, v, wg, lane);
    }
    return;
  }
  float s[S::BN / 8][4];
  uint32_t prob[S::BN / 16][4];
  const auto softmax_step = [&](int j) {
    if constexpr (S::MASKS > 0) {
      mbarrier_wait_parity(bar.full_mask(m.stage), m.phase);
      add_mask<T, S::BN / 8>(
          s, base + S::k_mask_ring + m.stage * S::k_mask_bytes + wg * S::k_mask_group_bytes,
          p.scale, warp, lane);
      if (lane == 0) mbarrier_arrive(bar.empty_mask(m.stage));
      m.advance();
    }
    const int first_key = (first + j * apart) * S::BN;
    if (first_key + S::BN - 1 > r.least_limit) mask_scores(s, r, first_key, lane);
    if constexpr (S::MASKS > 0) {
      softmax_masked(s, r);
    } else {
      softmax<S::BN / 8>(s, r, p.scale_log2);
    }
  };

  mbarrier_wait_parity(bar.full_k(k.stage), k.phase);
  ordered_barrier_wait<S>(wg);
  wgmma_fence();
  gemm_qk<T, S::COLS>(s, q_at, k_ring + k.stage * S::k_tile_bytes);
  wgmma_commit_group();
  ordered_barrier_arrive<S>(wg);
  wgmma_wait_group<0>();
  fence_operands(s);
  if (lane == 0) mbarrier_arrive(bar.empty_k(k.stage));
  k.advance(apart);
  softmax_step(0);
  pack_probabilities<T>(prob, s);

  for (int j = 1; j < own_steps; ++j) {
    mbarrier_wait_parity(bar.full_k(k.stage), k.phase);
    ordered_barrier_wait<S>(wg);
    fence_operands(s);
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    gemm_qk<T, S::COLS>(s, q_at, k_ring + k.stage * S::k_tile_bytes);
    wgmma_commit_group();
    mbarrier_wait_parity(bar.full_v(v.stage), v.phase);
    wgmma_fence();
    gemm_pv<T, 0, S::BN / 16>(o, prob, v_ring + v.stage * S::k_tile_bytes);
    wgmma_commit_group();
    ordered_barrier_arrive<S>(wg);
    wgmma_wait_group<1>();
    fence_operands(s);
    if (lane == 0) mbarrier_arrive(bar.empty_k(k.stage));
    k.advance(apart);
    softmax_step(j);
    wgmma_wait_group<0>();
    fence_operands(o);
    fence_operands(prob);
    if (lane == 0) mbarrier_arrive(bar.empty_v(v.stage));
    v.advance(apart);
    rescale(o, r.alpha);
    pack_probabilities<T>(prob, s);
  }
  mbarrier_wait_parity(bar.full_v(v.stage), v.phase);
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
  const uint32_t v_at = v_ring + v.stage * S::k_tile_bytes;
  gemm_pv<T, 0, S::BN / 32>(o, prob, v_at);
  wgmma_commit_group();
  if (!short_end) {
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    gemm_pv<T, S::BN / 32, S::BN / 16>(o, prob, v_at);
    wgmma_commit_group();
  }
  wgmma_wait_group<0>();
  fence_operands(o);
  if (lane == 0) mbarrier_arrive(bar.empty_v(v.stage));
  v.advance(apart);
  if constexpr (S::TRIM) {
    for (int j = own_steps; j < steps; ++j) skip_step<S>(bar, k, v, wg, lane);
  }
}

// A consumer warpgroup: its 64 rows of every work tile of the block.
template <class S>
__device__ __forceinline__ void consume(const Params& p, unsigned char* smem, uint32_t base,
                                        const Barriers<S>& bar, int wg) {
  const int thread = threadIdx.x % 128, lane = thread % 32;
  const volatile int* work_indices = reinterpret_cast<const int*>(smem + S::k_work_indices);
  PipelineState<S::STAGES> k, v;
  PipelineState<S::MASKS> m;
  PipelineState<S::QB> q;
  if (wg == S::WGS - 1) ordered_barrier_arrive<S>(wg);  // warpgroup 0 is let in first
  for (;; q.advance()) {
    const int at = S::k_thirds ? q.stage : S::QB * wg + q.stage;
    mbarrier_wait_parity(bar.full_q(at), q.phase);
    const int index = work_indices[at];
    if (index < 0) break;
    unsigned char* q_tile = smem + at * S::k_q_group_bytes;
    const WorkTile t = work_tile_at<S>(p, index);
    const int first_row = t.first_row + S::k_rows_apart * wg;
    RowState r = init_rows(p, first_row, thread);
    float o[S::COLS / 8][4];
    clear(o);
    if (p.negate) {
      if (!S::k_thirds || wg == 0) {
        negate_query<S::k_q_group_bytes>(q_tile, thread, 1 + S::WGS + wg);
      }
      if constexpr (S::k_thirds) meet_thirds<S>();
    }
    if (t.steps > 0) {
      const uint32_t q_at = base + at * S::k_q_group_bytes;
      if constexpr (S::k_thirds) {
        mainloop_thirds<S>(o, r, p, base, bar, k, v, q_at, t.steps, wg, lane);
        k.advance(t.steps);
        v.advance(t.steps);
      } else if constexpr (S::SPLIT) {
        PipelineState<S::STAGES> own_k = k, own_v = v;
        own_k.advance(wg);
        own_v.advance(wg);
        mainloop<S>(o, r, p, base, bar, own_k, own_v, m, q_at, t.steps, wg, thread / 32, lane);
        k.advance(t.steps);
        v.advance(t.steps);
      } else {
        mainloop<S>(o, r, p, base, bar, k, v, m, q_at, t.steps, wg, thread / 32, lane);
      }
    }
    reduce_row_sums(r);
    if constexpr (S::k_thirds) {
      merge_thirds<S>(o, r, p, smem, wg, thread);
    } else {
      merge_split<S>(o, r, p, smem, wg, thread);
    }
    barrier_sync(1 + S::WGS + wg, 128);  // every warp has read Q: O overlays it
    if (!S::SPLIT || wg == 0) {
      const int warp = thread / 32;
      rows_to_smem<S>(o, r, p, q_tile, t, first_row, warp, lane);
      __syncwarp();
      rows_to_global<typename S::T, S::COLS / 8>(p, q_tile, t.batch, t.head, first_row, 0, warp,
                                                 lane);
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
      mbarrier_init(bar.empty_k(i), S::k_consumer_warps);
      mbarrier_init(bar.empty_v(i), S::k_consumer_warps);
    }
    for (int i = 0; i < S::QB * S::k_q_copies; ++i) {
      mbarrier_init(bar.full_q(i), 1);
      mbarrier_init(bar.empty_q(i), S::k_q_readers);
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
    setmaxnreg_dec<S::k_producer_registers>();
    if (threadIdx.x == 0) produce<S>(p, &map_q, &map_k, &map_v, &map_mask, smem, base, bar);
  } else {
    setmaxnreg_inc<S::k_consumer_registers>();
    consume<S>(p, smem, base, bar, warpgroup - 1);
  }
}

}  // namespace wb::gpu
