// SPDX-License-Identifier: MIT
// The schedule by heads of sm90_wgmma_carry: where a consumer warpgroup stands, and the prologue,
// mainloop and epilogue of one unit. From unit to unit: heads.cuh.
#pragma once

#include "heads_producer.cuh"
#include "sm90/online_softmax.cuh"
#include "sm90/row_store.cuh"
#include "sm90/wgmma_gemms.cuh"
#include "sm90/wgmma_widths.cuh"

namespace wb::gpu {

// 64 rows as the warpgroup that computes them sees them.
struct Unit {
  int batch, head, first_row, keys, steps;
  int start;           // number of its first tile among all of the block
  int release_before;  // it releases tiles before this one: the warpgroup's next unit begins there
};

template <class S>
struct HeadConsumer {
  const HeadParams& p;
  unsigned char* smem;
  uint32_t base;
  HeadBarriers<S> bar;
  int wg, thread, warp, lane;
  Pass e;
  int triple;  // of the unit that the warpgroup is on
  PipelineState<S::KS> k;
  PipelineState<S::VS> v;
  PipelineState<S::QB> q;

  __device__ __forceinline__ int q_at() const { return S::QB * wg + q.stage; }
  __device__ __forceinline__ uint64_t q_operand() const {
    return wgmma_descriptor_add(wgmma_descriptor_k_major(base), q_at() * S::k_q_group_bytes);
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
__device__ __forceinline__ void unit_prologue(HeadConsumer<S>& w, const Unit& u,
                                              float (&s)[S::BN / 8][4]) {
  w.k = pipeline_state_of<S::KS>(u.start);
  mbarrier_wait_parity(w.bar.full_q(w.q_at()), w.q.phase);
  if (w.p.negate) {
    negate_query<S::k_q_group_bytes>(w.smem + w.q_at() * S::k_q_group_bytes, w.thread, 1 + w.wg);
  }
  w.await_k();
  fence_operands(s);
  wgmma_fence();
  gemm_qk_by_descriptor<S>(s, w.q_operand(), w.k_operand());
  wgmma_commit_group();
}

// The unit's first step, the one with its last keys: the only one, without a causal rule, where
// rows do not see all.
template <class S>
__device__ __forceinline__ void softmax_first_step(HeadConsumer<S>& w, const Unit& u,
                                                   float (&s)[S::BN / 8][4], RowState& r) {
  constexpr int k_half = S::k_short_keys / 8;
  const int first_key = (u.steps - 1) * S::BN;
  if (S::HALVES && u.keys <= first_key + S::k_short_keys) {
    mask_scores_between<0, k_half>(s, r, first_key, w.lane);
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
      mask_scores_between<k_half, S::BN / 8>(s, r, first_key, w.lane);
    } else {
      mask_scores_between<0, S::BN / 8>(s, r, first_key, w.lane);
    }
  }
  softmax<S::BN / 8>(s, r, w.p.scale_log2);
}

// The steps of a unit, from the first scores under way to the last P, whose product with V is still
// to come. Q K of a step and P V of the one before are issued together; nothing orders the
// warpgroups. V is waited for behind the softmax, which also keeps the compiler from waiting for
// P V in front of it.
template <class S>
__device__ __forceinline__ void unit_mainloop(HeadConsumer<S>& w, const Unit& u, RowState& r,
                                              float (&s)[S::BN / 8][4],
                                              uint32_t (&prob)[S::BN / 16][4],
                                              float (&o)[S::COLS / 8][4]) {
  w.v = pipeline_state_of<S::VS>(u.start);
  wgmma_wait_group<0>();
  fence_operands(s);
  const uint64_t q = w.q_operand();
  if (u.start < u.release_before) w.arrive(w.bar.empty_k(w.k.stage));
  w.k.advance();
  if (u.steps == 1) w.release_q();
  softmax_first_step<S>(w, u, s, r);
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
    gemm_qk_by_descriptor<S>(s, q, w.k_operand());
    wgmma_commit_group();
    gemm_pv_by_descriptor<S>(o, prob, w.v_operand());
    wgmma_commit_group();
    wgmma_wait_group<1>();
    fence_operands(s);
    if (u.start + j < u.release_before) w.arrive(w.bar.empty_k(w.k.stage));
    w.k.advance();
    if (j + 1 == u.steps) w.release_q();
    first_key -= S::BN;
    if (S::CAUSAL && first_key + S::BN - 1 > r.least_limit) {
      mask_scores_between<0, S::BN / 8>(s, r, first_key, w.lane);
    }
    if constexpr (S::THREE_WAY_MAXIMA) {
      softmax_by_threes<S::BN / 8>(s, r, w.p.scale_log2);
    } else {
      softmax<S::BN / 8>(s, r, w.p.scale_log2);
    }
    const int stage = w.v.stage;
    w.v.advance();
    w.await_v();
    wgmma_wait_group<0>();
    fence_operands(o);
    fence_operands(prob);
    if (u.start + j - 1 < u.release_before) w.arrive(w.bar.empty_v(stage));
    rescale(o, r.alpha);
    pack_probabilities<typename S::T>(prob, s);
  }
}

// The last P V of a unit, issued.
template <class S>
__device__ __forceinline__ void gemm_pv_last(HeadConsumer<S>& w, uint32_t (&prob)[S::BN / 16][4],
                                             float (&o)[S::COLS / 8][4]) {
  fence_operands(o);
  fence_operands(prob);
  wgmma_fence();
  gemm_pv_by_descriptor<S>(o, prob, w.v_operand());
  wgmma_commit_group();
}

template <class S>
__device__ __forceinline__ void release_last_v(HeadConsumer<S>& w, const Unit& u) {
  if (u.start + u.steps - 1 < u.release_before) w.arrive(w.bar.empty_v(w.v.stage));
}

// O and the log-sum-exp out, from the registers, since Q's buffer is released by now:
// neighbouring lanes swap so that each has 8 bytes and a row's four lanes a whole sector.
template <class S>
__device__ __forceinline__ void unit_epilogue(const HeadConsumer<S>& w, const Unit& u, RowState& r,
                                              const float (&o)[S::COLS / 8][4]) {
  using T = typename S::T;
  const HeadParams& p = w.p;
  reduce_row_sums(r);
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
