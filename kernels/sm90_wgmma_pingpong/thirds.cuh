// SPDX-License-Identifier: MIT
// The split tile of sm90_wgmma_pingpong by three consumer warpgroups: they share 64 rows and one
// tile of Q, take every third step of keys each, and are merged one after the other. Two are too
// few to fill one another's waits; three have 160 registers a thread, so 128 columns have steps
// of 64 keys. Reached by TILE_INDEX 3 alone. Included by pingpong.cuh.
#pragma once

#include "producer.cuh"
#include "sm90/online_softmax.cuh"
#include "sm90/prefill_epilogue.cuh"
#include "sm90/wgmma_gemms.cuh"

#include <algorithm>

namespace wb::gpu {

// Of a PrefillShape whose two warpgroups split the keys. Parts of O on their way to warpgroup 0 lie
// over Q, which all have read by then, and a little beyond: that leaves room for pipelines in which
// each warpgroup has two stages.
template <class Split>
struct Thirds : Split {
  static constexpr int WGS = 3, BN = Split::COLS <= 64 ? 128 : 64, STAGES = 6, QB = 1;
  static_assert(Split::SPLIT && Split::COLS <= 128 && Split::MASKS == 0 && !Split::TRIM);
  // Within a tile a stage is one warpgroup's alone: a phase may be waited for by its parity only by
  // who knows of the one before, and boxes may come in another order than they were asked for in.
  static_assert(STAGES % WGS == 0);
  static_assert(STAGES > WGS);  // mainloop_thirds waits for its next V while it still holds one
  static constexpr int k_threads = 128 * (WGS + 1);
  static constexpr int k_producer_registers = 32, k_consumer_registers = 160;
  static_assert(128 * (k_producer_registers + WGS * k_consumer_registers) <= 65536);
  static constexpr int k_tile_bytes = BN * Split::DP * 2;
  static constexpr int k_part_bytes = (Split::COLS / 2 + 4) * 128 * 4;
  static constexpr int k_merge = 0;  // offsets
  static constexpr int k_k_ring =
      (std::max(k_part_bytes, Split::k_q_group_bytes) + 1023) / 1024 * 1024;
  static constexpr int k_v_ring = k_k_ring + STAGES * k_tile_bytes;
  static constexpr int k_mask_ring = k_v_ring + STAGES * k_tile_bytes;  // none
  static constexpr int k_barriers = k_mask_ring;
  static constexpr int k_work_indices = k_barriers + 256;
  static constexpr int k_smem_bytes = k_work_indices + 64;
  static_assert(k_smem_bytes <= 227 * 1024);
};

// Every third step of one tile, from the warpgroup's own on; k and v: the pipeline states of
// the tile's first. Step j: Q K(j) and P(j-1) V(j-1) are issued together; its softmax overlaps the
// latter.
template <class S>
__device__ __forceinline__ void mainloop_thirds(float (&o)[S::COLS / 8][4], RowState& r,
                                                const Params& p, uint32_t base,
                                                const Barriers<S>& bar, PipelineState<S::STAGES> k,
                                                PipelineState<S::STAGES> v, uint32_t q_at,
                                                int steps, int wg, int lane) {
  const int own_steps = (steps - wg + S::WGS - 1) / S::WGS;
  if (own_steps == 0) return;
  k.advance(wg);
  v.advance(wg);
  float s[S::BN / 8][4];
  uint32_t prob[S::BN / 16][4];
  const uint64_t q_operand = wgmma_descriptor_k_major(q_at);
  const auto k_operand = [&] {
    return wgmma_descriptor_add(wgmma_descriptor_k_major(base + S::k_k_ring),
                                k.stage * S::k_tile_bytes);
  };
  const auto v_operand = [&] {
    return wgmma_descriptor_add(wgmma_descriptor_mn_major(base + S::k_v_ring, S::BN * 128),
                                v.stage * S::k_tile_bytes);
  };
  const auto softmax_step = [&](int j) {
    const int first_key = (wg + j * S::WGS) * S::BN;
    if (first_key + S::BN - 1 > r.least_limit) mask_scores(s, r, first_key, lane);
    softmax<S::BN / 8>(s, r, p.scale_log2);
  };

  mbarrier_wait_parity(bar.full_k(k.stage), k.phase);
  fence_operands(s);
  wgmma_fence();
  gemm_qk_by_descriptor<S>(s, q_operand, k_operand());
  wgmma_commit_group();
  wgmma_wait_group<0>();
  fence_operands(s);
  if (lane == 0) mbarrier_arrive(bar.empty_k(k.stage));
  k.advance(S::WGS);
  softmax_step(0);
  mbarrier_wait_parity(bar.full_v(v.stage), v.phase);
  pack_probabilities<typename S::T>(prob, s);
  for (int j = 1; j < own_steps; ++j) {
    mbarrier_wait_parity(bar.full_k(k.stage), k.phase);
    fence_operands(s);
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    gemm_qk_by_descriptor<S>(s, q_operand, k_operand());
    wgmma_commit_group();
    gemm_pv_by_descriptor<S>(o, prob, v_operand());
    wgmma_commit_group();
    wgmma_wait_group<1>();
    fence_operands(s);
    if (lane == 0) mbarrier_arrive(bar.empty_k(k.stage));
    k.advance(S::WGS);
    softmax_step(j);
    // The next V has a stage of its own, so it may be waited for before this one is released. The
    // loop between also keeps the compiler from moving the wait for P V in front of the softmax.
    PipelineState<S::STAGES> next = v;
    next.advance(S::WGS);
    mbarrier_wait_parity(bar.full_v(next.stage), next.phase);
    wgmma_wait_group<0>();
    fence_operands(o);
    fence_operands(prob);
    if (lane == 0) mbarrier_arrive(bar.empty_v(v.stage));
    v = next;
    rescale(o, r.alpha);
    pack_probabilities<typename S::T>(prob, s);
  }
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
  gemm_pv_by_descriptor<S>(o, prob, v_operand());
  wgmma_commit_group();
  wgmma_wait_group<0>();
  fence_operands(o);
  if (lane == 0) mbarrier_arrive(bar.empty_v(v.stage));
}

// Named barrier of all three; 1 and 2 are the merge's, from 4 on each warpgroup's own.
inline constexpr uint32_t k_thirds_meet = 3;

template <class S>
__device__ __forceinline__ void meet_thirds() {
  barrier_sync(k_thirds_meet, 128 * S::WGS);
}

// The parts of the second and the third into the first one's sums. They meet before each: once all
// are done with Q and with every stage of the tile, which nobody may leave before; then the first
// part has been read. P: scale_log2.
template <class S, class P>
__device__ __forceinline__ void merge_thirds(float (&o)[S::COLS / 8][4], RowState& r, const P& p,
                                             unsigned char* smem, int wg, int thread) {
#pragma unroll 1
  for (int part = 1; part < S::WGS; ++part) {
    meet_thirds<S>();
    if (wg == 0) {
      merge_partial<S>(o, r, p, smem, thread);
    } else if (wg == part) {
      send_partial<S>(o, r, smem, thread);
    }
  }
}

}  // namespace wb::gpu
