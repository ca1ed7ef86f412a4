// SPDX-License-Identifier: MIT
// The mainloop of a consumer warpgroup of sm90_wgmma_carry over the steps of a tile: the ordered
// barrier, the pipeline states, and what is issued beside what.
#pragma once

#include "producer.cuh"
#include "sm90/online_softmax.cuh"
#include "sm90/prefill_mask.cuh"
#include "sm90/row_store.cuh"
#include "sm90/wgmma_gemms.cuh"
#include "sm90/wgmma_widths.cuh"

namespace wb::gpu {

// A work tile as one consumer warpgroup sees it.
struct ConsumerWork {
  WorkTile tile;
  int q_buffer;    // which of the buffers of Q holds its rows
  int first_row;   // of the warpgroup's 64
  int own_steps;   // that it computes; it skips the others
  bool short_end;  // the second half of its last step is left out
};

// What a consumer warpgroup is and where it stands in the pipelines.
template <class S>
struct Consumer {
  const Params& p;
  unsigned char* smem;
  uint32_t base;
  Barriers<S> bar;
  int wg, thread, warp, lane;
  PipelineState<S::STAGES> k;
  PipelineState<S::STAGES> v;
  PipelineState<S::MASKS> m;
  PipelineState<S::QB> q;
  const CUtensorMap* map_o;
  int storing = -1;  // the buffer of Q that TMA still reads O from

  __device__ __forceinline__ void release_stored(int q_buffer) const {
    if (lane == 0) {
      cp_async_bulk_wait_group_read();
      mbarrier_arrive(bar.empty_q(q_buffer));
    }
  }
  __device__ __forceinline__ void release_q() {
    if (storing >= 0) release_stored(storing);
    storing = -1;
  }
  // Descriptors of the operands: what is the same for all buffers is made once.
  __device__ __forceinline__ uint64_t q_operand(const ConsumerWork& work) const {
    return wgmma_descriptor_add(wgmma_descriptor_k_major(base), work.q_buffer * S::k_q_group_bytes);
  }
  __device__ __forceinline__ uint64_t k_operand() const {
    return wgmma_descriptor_add(wgmma_descriptor_k_major(base + S::k_k_ring),
                                k.stage * S::k_tile_bytes);
  }
  __device__ __forceinline__ uint64_t v_operand() const {
    return wgmma_descriptor_add(wgmma_descriptor_mn_major(base + S::k_v_ring, S::BN * 128),
                                v.stage * S::k_tile_bytes);
  }
  __device__ __forceinline__ void await_k() const {
    mbarrier_wait_parity(bar.full_k(k.stage), k.phase);
  }
  __device__ __forceinline__ void await_v() const {
    mbarrier_wait_parity(bar.full_v(v.stage), v.phase);
  }
  // The V that this warpgroup reads after the one it is reading.
  __device__ __forceinline__ void await_next_v() const {
    PipelineState<S::STAGES> next = v;
    next.advance();
    mbarrier_wait_parity(bar.full_v(next.stage), next.phase);
  }
  __device__ __forceinline__ void release_k() {
    if (lane == 0) mbarrier_arrive(bar.empty_k(k.stage));
    k.advance(k_apart);
  }
  __device__ __forceinline__ void release_v() {
    if (lane == 0) mbarrier_arrive(bar.empty_v(v.stage));
    v.advance(k_apart);
  }
  static constexpr int k_apart = S::SPLIT ? S::WGS : 1;  // of this warpgroup's steps
};

// Waits for the next work tile and its Q. False: there is none.
template <class S>
__device__ __forceinline__ bool get_next_work(Consumer<S>& w, ConsumerWork& work) {
  const volatile int* work_indices = reinterpret_cast<const int*>(w.smem + S::k_work_indices);
  const Params& p = w.p;
  work.q_buffer = S::QB * w.wg + w.q.stage;
  mbarrier_wait_parity(w.bar.full_q(work.q_buffer), w.q.phase);
  w.q.advance();
  // Only lane 0 reads: it is the lane that releases the buffer.
  const int index = __shfl_sync(~0u, w.lane == 0 ? work_indices[work.q_buffer] : 0, 0);
  if (index < 0) return false;
  work.tile = work_tile_at<S>(p, index);
  work.first_row = work.tile.first_row + S::k_rows_apart * w.wg;
  work.own_steps = work.tile.steps;
  work.short_end = false;
  if constexpr (S::TRIM) {
    const int last_row = min(work.first_row + 63, p.seq_q - 1);
    const int keys =
        work.first_row < p.seq_q ? max(0, min(p.seq_kv, last_row + p.causal_offset + 1)) : 0;
    work.own_steps = (keys + S::BN - 1) / S::BN;
    work.short_end = keys <= (work.own_steps - 1) * S::BN + S::k_short_keys;
  }
  if constexpr (S::SPLIT) work.own_steps = (work.tile.steps - w.wg + S::WGS - 1) / S::WGS;
  if (p.negate) {
    negate_query<S::k_q_group_bytes>(w.smem + work.q_buffer * S::k_q_group_bytes, w.thread,
                                     1 + S::WGS + w.wg);
  }
  return true;
}

// Steps of the tile that this warpgroup leaves out: it only passes the ordered barrier and advances
// its pipeline states.
template <class S>
__device__ __forceinline__ void skip_k(Consumer<S>& w) {
  w.await_k();
  ordered_barrier_wait<S>(w.wg);
  ordered_barrier_arrive<S>(w.wg);
  w.release_k();
}

template <class S>
__device__ __forceinline__ void skip_v(Consumer<S>& w) {
  w.await_v();
  w.release_v();
}

// Step 0's scores, issued and committed under the ordered barrier.
template <class S>
__device__ __forceinline__ void mainloop_prologue(Consumer<S>& w, const ConsumerWork& work,
                                                  float (&s)[S::BN / 8][4]) {
  w.await_k();
  ordered_barrier_wait<S>(w.wg);
  fence_operands(s);
  wgmma_fence();
  gemm_qk_by_descriptor<Scores<S>>(s, w.q_operand(work), w.k_operand());
  wgmma_commit_group();
  ordered_barrier_arrive<S>(w.wg);
}

// Mask and online softmax: scores to probabilities; `step` counts this warpgroup's own.
template <class S>
__device__ __forceinline__ void softmax_step(Consumer<S>& w, const ConsumerWork& work,
                                             float (&s)[S::BN / 8][4], RowState& r, int step) {
  const Params& p = w.p;
  if constexpr (S::MASKS > 0) {
    mbarrier_wait_parity(w.bar.full_mask(w.m.stage), w.m.phase);
    add_mask<typename S::T, S::BN / 8>(
        s, w.base + S::k_mask_ring + w.m.stage * S::k_mask_bytes + w.wg * S::k_mask_group_bytes,
        p.scale, w.warp, w.lane);
    if (w.lane == 0) mbarrier_arrive(w.bar.empty_mask(w.m.stage));
    w.m.advance();
  }
  const int first_key = ((S::SPLIT ? w.wg : 0) + step * w.k_apart) * S::BN;
  if (S::HALVES && first_key + S::k_short_keys - 1 <= r.least_limit) {
    if (first_key + S::BN - 1 > r.least_limit) {
      mask_scores_between<S::k_short_keys / 8, S::BN / 8>(s, r, first_key, w.lane);
    }
  } else if (first_key + S::BN - 1 > r.least_limit) {
    mask_scores_between<0, S::BN / 8>(s, r, first_key, w.lane);
  }
  if constexpr (S::MASKS > 0) {
    softmax_masked(s, r);
  } else if constexpr (S::THREE_WAY_MAXIMA) {
    softmax_by_threes<S::BN / 8>(s, r, p.scale_log2);
  } else if (S::HALVES && work.short_end && step + 1 == work.own_steps) {
    softmax<S::k_short_keys / 8>(s, r, p.scale_log2);
  } else {
    softmax<S::BN / 8>(s, r, p.scale_log2);
  }
}

// The steps of one tile, from step 0's scores under way to the last P, whose product with V is
// still to come. Step j: Q K(j) and P(j-1) V(j-1) are issued together under the ordered barrier;
// the softmax of step j overlaps the latter, and the products of the other warpgroups.
template <class S>
__device__ __forceinline__ void mainloop(Consumer<S>& w, const ConsumerWork& work, RowState& r,
                                         float (&s)[S::BN / 8][4], uint32_t (&prob)[S::BN / 16][4],
                                         float (&o)[S::COLS / 8][4]) {
  wgmma_wait_group<0>();
  fence_operands(s);
  w.release_k();
  softmax_step<S>(w, work, s, r, 0);
  // Before V is waited for: this tile's last V comes behind the next tile's Q, which wants a
  // buffer.
  if constexpr (S::COPY_OUT && S::CARRY) w.release_q();
  w.await_v();
  pack_probabilities<typename S::T>(prob, s);
  for (int j = 1; j < work.own_steps; ++j) {
    w.await_k();
    ordered_barrier_wait<S>(w.wg);
    fence_operands(s);
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    gemm_qk_by_descriptor<Scores<S>>(s, w.q_operand(work), w.k_operand());
    wgmma_commit_group();
    gemm_pv_by_descriptor<S>(o, prob, w.v_operand());
    wgmma_commit_group();
    ordered_barrier_arrive<S>(w.wg);
    wgmma_wait_group<1>();
    fence_operands(s);
    w.release_k();
    softmax_step<S>(w, work, s, r, j);
    // Waiting for V here, in a loop of its own, also keeps the compiler from moving the wait for
    // P V in front of the softmax. Split warpgroups may find their next V in the stage they hold.
    if constexpr (!S::SPLIT) w.await_next_v();
    wgmma_wait_group<0>();
    fence_operands(o);
    fence_operands(prob);
    w.release_v();
    if constexpr (S::SPLIT) w.await_v();
    rescale(o, r.alpha);
    pack_probabilities<typename S::T>(prob, s);
  }
  if constexpr (S::TRIM) {
    for (int j = work.own_steps; j < work.tile.steps; ++j) skip_k<S>(w);
  }
}

// The last P V of a tile, issued.
template <class S>
__device__ __forceinline__ void gemm_pv_last(Consumer<S>& w, const ConsumerWork& work,
                                             uint32_t (&prob)[S::BN / 16][4],
                                             float (&o)[S::COLS / 8][4]) {
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
  gemm_pv_by_descriptor<S, 0, S::BN / 32>(o, prob, w.v_operand());
  wgmma_commit_group();
  if (!work.short_end) {
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    gemm_pv_by_descriptor<S, S::BN / 32, S::BN / 16>(o, prob, w.v_operand());
    wgmma_commit_group();
  }
}

template <class S>
__device__ __forceinline__ void release_last_v(Consumer<S>& w, const ConsumerWork& work) {
  w.release_v();
  if constexpr (S::TRIM) {
    for (int j = work.own_steps; j < work.tile.steps; ++j) skip_v<S>(w);
  }
}

}  // namespace wb::gpu
