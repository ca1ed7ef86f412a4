// SPDX-License-Identifier: MIT
// How a computing warpgroup of sm90_wgmma_carry walks over the steps of a tile: turns, rings,
// and what is issued beside what.
#pragma once

#include "row_store.cuh"
#include "scores.cuh"

namespace wb::gpu {

// A tile as one computing warpgroup sees it.
struct Job {
  Tile tile;
  int at;          // its buffer of Q
  int first_row;   // of the warpgroup's 64
  int own_steps;   // that it computes; it passes over the others
  bool short_end;  // the second half of its last step is left out
};

// What a computing warpgroup is and where it stands in the rings.
template <class S>
struct Worker {
  const Params& p;
  unsigned char* smem;
  uint32_t base;
  Barriers<S> bar;
  int wg, thread, warp, lane;
  Place<S::STAGES> k;
  Place<S::STAGES> v;
  Place<S::MASKS> m;
  Place<S::QB> q;
  const CUtensorMap* map_o;
  int storing = -1;  // the buffer of Q that the copy engine still reads O from

  __device__ __forceinline__ void release_stored(int at) const {
    if (lane == 0) {
      cp_async_bulk_wait_group_read();
      mbarrier_arrive(bar.empty_q(at));
    }
  }
  __device__ __forceinline__ void release_q() {
    if (storing >= 0) release_stored(storing);
    storing = -1;
  }
  // Descriptors of the operands: what is the same for all buffers is made once.
  __device__ __forceinline__ uint64_t q_operand(const Job& job) const {
    return wgmma_descriptor_add(wgmma_descriptor_k_major(base), job.at * S::k_q_group_bytes);
  }
  __device__ __forceinline__ uint64_t k_operand() const {
    return wgmma_descriptor_add(wgmma_descriptor_k_major(base + S::k_k_ring),
                                k.slot * S::k_tile_bytes);
  }
  __device__ __forceinline__ uint64_t v_operand() const {
    return wgmma_descriptor_add(wgmma_descriptor_mn_major(base + S::k_v_ring, S::BN * 128),
                                v.slot * S::k_tile_bytes);
  }
  __device__ __forceinline__ void await_k() const {
    mbarrier_wait_parity(bar.full_k(k.slot), k.parity);
  }
  __device__ __forceinline__ void await_v() const {
    mbarrier_wait_parity(bar.full_v(v.slot), v.parity);
  }
  // The V that this warpgroup reads after the one it is reading.
  __device__ __forceinline__ void await_next_v() const {
    Place<S::STAGES> next = v;
    next.advance();
    mbarrier_wait_parity(bar.full_v(next.slot), next.parity);
  }
  __device__ __forceinline__ void release_k() {
    if (lane == 0) mbarrier_arrive(bar.empty_k(k.slot));
    k.advance(k_apart);
  }
  __device__ __forceinline__ void release_v() {
    if (lane == 0) mbarrier_arrive(bar.empty_v(v.slot));
    v.advance(k_apart);
  }
  static constexpr int k_apart = S::SPLIT ? S::WGS : 1;  // of this warpgroup's steps
};

// Waits for the next tile's Q. False: there is none.
template <class S>
__device__ __forceinline__ bool take_job(Worker<S>& w, Job& job) {
  const volatile int* indices = reinterpret_cast<const int*>(w.smem + S::k_indices);
  const Params& p = w.p;
  job.at = S::QB * w.wg + w.q.slot;
  mbarrier_wait_parity(w.bar.full_q(job.at), w.q.parity);
  w.q.advance();
  // Only lane 0 reads: it is the lane that gives the buffer back.
  const int index = __shfl_sync(~0u, w.lane == 0 ? indices[job.at] : 0, 0);
  if (index < 0) return false;
  job.tile = tile_at<S>(p, index);
  job.first_row = job.tile.first_row + S::k_rows_apart * w.wg;
  job.own_steps = job.tile.steps;
  job.short_end = false;
  if constexpr (S::TRIM) {
    const int last_row = min(job.first_row + 63, p.seq_q - 1);
    const int keys =
        job.first_row < p.seq_q ? max(0, min(p.seq_kv, last_row + p.causal_offset + 1)) : 0;
    job.own_steps = (keys + S::BN - 1) / S::BN;
    job.short_end = keys <= (job.own_steps - 1) * S::BN + S::k_short_keys;
  }
  if constexpr (S::SPLIT) job.own_steps = (job.tile.steps - w.wg + S::WGS - 1) / S::WGS;
  if (p.negate) {
    negate_query<S::k_q_group_bytes>(w.smem + job.at * S::k_q_group_bytes, w.thread,
                                     1 + S::WGS + w.wg);
  }
  return true;
}

// Steps of the tile that this warpgroup leaves out: its turns and its places in the rings pass on.
template <class S>
__device__ __forceinline__ void pass_over_k(Worker<S>& w) {
  w.await_k();
  await_turn<S>(w.wg);
  pass_turn<S>(w.wg);
  w.release_k();
}

template <class S>
__device__ __forceinline__ void pass_over_v(Worker<S>& w) {
  w.await_v();
  w.release_v();
}

// Step 0's scores, issued and committed in this warpgroup's turn.
template <class S>
__device__ __forceinline__ void begin_tile(Worker<S>& w, const Job& job, float (&s)[S::BN / 8][4]) {
  w.await_k();
  await_turn<S>(w.wg);
  fence_operands(s);
  wgmma_fence();
  score<S>(s, w.q_operand(job), w.k_operand());
  wgmma_commit_group();
  pass_turn<S>(w.wg);
}

// Scores to probabilities; `step` counts this warpgroup's own.
template <class S>
__device__ __forceinline__ void weigh(Worker<S>& w, const Job& job, float (&s)[S::BN / 8][4],
                                      RowState& r, int step) {
  const Params& p = w.p;
  if constexpr (S::MASKS > 0) {
    mbarrier_wait_parity(w.bar.full_mask(w.m.slot), w.m.parity);
    add_mask<typename S::T, S::BN / 8>(
        s, w.base + S::k_mask_ring + w.m.slot * S::k_mask_bytes + w.wg * S::k_mask_group_bytes,
        p.scale, w.warp, w.lane);
    if (w.lane == 0) mbarrier_arrive(w.bar.empty_mask(w.m.slot));
    w.m.advance();
  }
  const int first_key = ((S::SPLIT ? w.wg : 0) + step * w.k_apart) * S::BN;
  if (S::HALVES && first_key + S::k_short_keys - 1 <= r.least_limit) {
    if (first_key + S::BN - 1 > r.least_limit) {
      mask_scores_from<S, S::k_short_keys / 8>(s, r, first_key, w.lane);
    }
  } else if (first_key + S::BN - 1 > r.least_limit) {
    mask_scores_from<S, 0>(s, r, first_key, w.lane);
  }
  if constexpr (S::MASKS > 0) {
    softmax_masked(s, r);
  } else if constexpr (S::THREE_WAY_MAXIMA) {
    softmax_by_threes<S::BN / 8>(s, r, p.scale_log2);
  } else if (S::HALVES && job.short_end && step + 1 == job.own_steps) {
    softmax<S::k_short_keys / 8>(s, r, p.scale_log2);
  } else {
    softmax<S::BN / 8>(s, r, p.scale_log2);
  }
}

// The steps of one tile, from step 0's scores under way to the last P, whose product with V is
// still to come. Step j: Q K(j) and P(j-1) V(j-1) are issued together in this warpgroup's turn; the
// softmax of step j overlaps the latter, and the products of the other warpgroups.
template <class S>
__device__ __forceinline__ void walk_keys(Worker<S>& w, const Job& job, RowState& r,
                                          float (&s)[S::BN / 8][4], uint32_t (&prob)[S::BN / 16][4],
                                          float (&o)[S::COLS / 8][4]) {
  wgmma_wait_group<0>();
  fence_operands(s);
  w.release_k();
  weigh<S>(w, job, s, r, 0);
  // Before V is waited for: this tile's last V comes behind the next tile's Q, which wants a
  // buffer.
  if constexpr (S::COPY_OUT && S::CARRY) w.release_q();
  w.await_v();
  pack_probabilities<typename S::T>(prob, s);
  for (int j = 1; j < job.own_steps; ++j) {
    w.await_k();
    await_turn<S>(w.wg);
    fence_operands(s);
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    score<S>(s, w.q_operand(job), w.k_operand());
    wgmma_commit_group();
    accumulate<S, 0, S::BN / 16>(o, prob, w.v_operand());
    wgmma_commit_group();
    pass_turn<S>(w.wg);
    wgmma_wait_group<1>();
    fence_operands(s);
    w.release_k();
    weigh<S>(w, job, s, r, j);
    // Waiting for V here, in a loop of its own, also keeps the compiler from moving the wait for
    // P V in front of the softmax. Split warpgroups may find their next V in the slot they hold.
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
    for (int j = job.own_steps; j < job.tile.steps; ++j) pass_over_k<S>(w);
  }
}

// The last P V of a tile, issued.
template <class S>
__device__ __forceinline__ void accumulate_last(Worker<S>& w, const Job& job,
                                                uint32_t (&prob)[S::BN / 16][4],
                                                float (&o)[S::COLS / 8][4]) {
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
  accumulate<S, 0, S::BN / 32>(o, prob, w.v_operand());
  wgmma_commit_group();
  if (!job.short_end) {
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    accumulate<S, S::BN / 32, S::BN / 16>(o, prob, w.v_operand());
    wgmma_commit_group();
  }
}

template <class S>
__device__ __forceinline__ void release_last(Worker<S>& w, const Job& job) {
  w.release_v();
  if constexpr (S::TRIM) {
    for (int j = job.own_steps; j < job.tile.steps; ++j) pass_over_v<S>(w);
  }
}

}  // namespace wb::gpu
