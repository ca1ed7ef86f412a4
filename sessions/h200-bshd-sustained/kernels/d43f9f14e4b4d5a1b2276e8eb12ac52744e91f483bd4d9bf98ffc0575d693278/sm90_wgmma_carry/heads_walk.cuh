// SPDX-License-Identifier: MIT
// The walk by heads of sm90_wgmma_carry: where a computing warpgroup stands, the steps of one unit
// from its first product to O in memory. From unit to unit: heads.cuh.
#pragma once

#include "heads_schedule.cuh"
#include "row_store.cuh"
#include "scores.cuh"

namespace wb::gpu {

// 64 rows as the warpgroup that computes them sees them.
struct Unit {
  int batch, head, first_row, keys, steps;
  int start;      // number of its first tile among all of the block
  int hand_back;  // tiles before this one are given back: the warpgroup's next unit begins behind
};

template <class S>
struct HeadWorker {
  const HeadParams& p;
  unsigned char* smem;
  uint32_t base;
  HeadBarriers<S> bar;
  int wg, thread, warp, lane;
  Epoch e;
  int triple;  // of the unit that the warpgroup is on
  Place<S::KS> k;
  Place<S::VS> v;
  Place<S::QB> q;

  __device__ __forceinline__ int q_at() const { return S::QB * wg + q.slot; }
  __device__ __forceinline__ uint64_t q_operand() const {
    return wgmma_descriptor_add(wgmma_descriptor_k_major(base), q_at() * S::k_q_group_bytes);
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
  __device__ __forceinline__ void arrive(uint32_t barrier) const {
    if (lane == 0) mbarrier_arrive(barrier);
  }
  __device__ __forceinline__ void release_q() {
    arrive(bar.empty_q(q_at()));
    q.advance();
  }
};

// The unit's first scores, issued and committed.
template <class S>
__device__ __forceinline__ void begin_unit(HeadWorker<S>& w, const Unit& u,
                                           float (&s)[S::BN / 8][4]) {
  w.k = place_of<S::KS>(u.start);
  mbarrier_wait_parity(w.bar.full_q(w.q_at()), w.q.parity);
  if (w.p.negate) {
    negate_query<S::k_q_group_bytes>(w.smem + w.q_at() * S::k_q_group_bytes, w.thread, 1 + w.wg);
  }
  w.await_k();
  fence_operands(s);
  wgmma_fence();
  score<S>(s, w.q_operand(), w.k_operand());
  wgmma_commit_group();
}

// The unit's first step, the one with its last keys: the only one, without a causal rule, where
// rows do not see all.
template <class S>
__device__ __forceinline__ void weigh_first(HeadWorker<S>& w, const Unit& u,
                                            float (&s)[S::BN / 8][4], RowState& r) {
  constexpr int k_half = S::k_short_keys / 8;
  const int first_key = (u.steps - 1) * S::BN;
  if (S::HALVES && u.keys <= first_key + S::k_short_keys) {
    mask_scores_from<S, 0, k_half>(s, r, first_key, w.lane);
    softmax<k_half>(s, r, w.p.scale_log2);
#pragma unroll
    for (int n = k_half; n < S::BN / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) s[n][c] = 0.0f;
    }
    return;
  }
  if (first_key + S::BN - 1 > r.least_limit) {
    if (S::HALVES && first_key + S::k_short_keys - 1 <= r.least_limit) {
      mask_scores_from<S, k_half>(s, r, first_key, w.lane);
    } else {
      mask_scores_from<S, 0>(s, r, first_key, w.lane);
    }
  }
  softmax<S::BN / 8>(s, r, w.p.scale_log2);
}

// The steps of a unit, from the first scores under way to the last P, whose product with V is still
// to come. Q K of a step and P V of the one before are issued together; nothing orders the
// warpgroups. V is waited for behind the softmax, which also keeps the compiler from waiting for
// P V in front of it.
template <class S>
__device__ __forceinline__ void walk_unit(HeadWorker<S>& w, const Unit& u, RowState& r,
                                          float (&s)[S::BN / 8][4], uint32_t (&prob)[S::BN / 16][4],
                                          float (&o)[S::COLS / 8][4]) {
  w.v = place_of<S::VS>(u.start);
  wgmma_wait_group<0>();
  fence_operands(s);
  const uint64_t q = w.q_operand();
  if (u.start < u.hand_back) w.arrive(w.bar.empty_k(w.k.slot));
  w.k.advance();
  if (u.steps == 1) w.release_q();
  weigh_first<S>(w, u, s, r);
  if constexpr (S::THREE_WAY_MAXIMA) {
    r.no_negatives = __all_sync(~0u, (__float_as_int(r.m[0]) | __float_as_int(r.m[1])) >= 0);
  }
  w.await_v();
  pack_probabilities<typename S::T>(prob, s);
  int first_key = (u.steps - 1) * S::BN;
  for (int j = 1; j < u.steps; ++j) {
    w.await_k();
    fence_operands(s);
    fence_operands(o);
    fence_operands(prob);
    wgmma_fence();
    score<S>(s, q, w.k_operand());
    wgmma_commit_group();
    accumulate<S, 0, S::BN / 16>(o, prob, w.v_operand());
    wgmma_commit_group();
    wgmma_wait_group<1>();
    fence_operands(s);
    if (u.start + j < u.hand_back) w.arrive(w.bar.empty_k(w.k.slot));
    w.k.advance();
    if (j + 1 == u.steps) w.release_q();
    first_key -= S::BN;
    if (S::CAUSAL && first_key + S::BN - 1 > r.least_limit) {
      mask_scores_from<S, 0>(s, r, first_key, w.lane);
    }
    if constexpr (S::THREE_WAY_MAXIMA) {
      softmax_by_threes<S::BN / 8>(s, r, w.p.scale_log2);
    } else {
      softmax<S::BN / 8>(s, r, w.p.scale_log2);
    }
    const int slot = w.v.slot;
    w.v.advance();
    w.await_v();
    wgmma_wait_group<0>();
    fence_operands(o);
    fence_operands(prob);
    if (u.start + j - 1 < u.hand_back) w.arrive(w.bar.empty_v(slot));
    rescale(o, r.alpha);
    pack_probabilities<typename S::T>(prob, s);
  }
}

// The last P V of a unit, issued.
template <class S>
__device__ __forceinline__ void accumulate_last(HeadWorker<S>& w, uint32_t (&prob)[S::BN / 16][4],
                                                float (&o)[S::COLS / 8][4]) {
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
  accumulate<S, 0, S::BN / 16>(o, prob, w.v_operand());
  wgmma_commit_group();
}

template <class S>
__device__ __forceinline__ void release_last(HeadWorker<S>& w, const Unit& u) {
  if (u.start + u.steps - 1 < u.hand_back) w.arrive(w.bar.empty_v(w.v.slot));
}

// O and the log-sum-exp out, from the registers, since Q's buffer is given back by now:
// neighbouring lanes swap so that each has 8 bytes and a row's four lanes a whole sector.
template <class S>
__device__ __forceinline__ void finish_unit(const HeadWorker<S>& w, const Unit& u, RowState& r,
                                            const float (&o)[S::COLS / 8][4]) {
  using T = typename S::T;
  const HeadParams& p = w.p;
  sum_rows(r);
  const int quad = w.lane / 4, pair = w.lane % 4;
  const bool odd = pair & 1;
  T* out = static_cast<T*>(p.out) + u.batch * p.so.batch + u.head * p.so.head;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = u.first_row + w.warp * 16 + 8 * half + quad;
    const float l = r.l[half];
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(l));
    if (!(l > 0.0f)) inverse = 0.0f;  // no key: zeros
    T* to = out + row * p.so.row + (odd ? 8 : 0) + 2 * (pair & 2);
#pragma unroll
    for (int n = 0; n < S::COLS / 8; n += 2) {
      const uint32_t a = pack2<T>(o[n][2 * half] * inverse, o[n][2 * half + 1] * inverse);
      const uint32_t b = pack2<T>(o[n + 1][2 * half] * inverse, o[n + 1][2 * half + 1] * inverse);
      const uint32_t got = __shfl_xor_sync(~0u, odd ? a : b, 1);
      if (row < p.seq_q && 8 * n + (odd ? 8 : 0) < p.dim_v) {
        *reinterpret_cast<uint2*>(to + 8 * n) = odd ? make_uint2(got, b) : make_uint2(a, got);
      }
    }
    if (p.lse != nullptr && pair == 0 && row < p.seq_q) {
      p.lse[(int64_t(u.batch) * p.heads_q + u.head) * p.seq_q + row] =
          l > 0.0f ? r.m[half] * (p.scale_log2 * k_ln_2) + logf(l) : -INFINITY;
    }
  }
}

}  // namespace wb::gpu
