// SPDX-License-Identifier: MIT
// Shape and barriers of sm90_wgmma_carry, and the producer. Parameters and what the shape derives
// from: prefill_pipeline.cuh.
#pragma once

#include "sm90/prefill_pipeline.cuh"

#ifndef CARRY_OVER  // 1: up to 128 columns the next tile's first Q K^T is issued before this one's
                    // last P V is waited for; 0: tile after tile
#define CARRY_OVER 1
#endif
#ifndef EARLY_START  // 1: the kernel may start while the one before it in the stream drains
#define EARLY_START 1
#endif
#ifndef THREES  // 1: up to 128 columns rows' maxima by the maximum of three integers
#define THREES 1
#endif
#ifndef PING_PONG  // 1: up to 128 columns the ordered barrier lets one consumer warpgroup issue its
                   // products at a time; 0: nothing orders them
#define PING_PONG 1
#endif

namespace wb::gpu {

using Params = PrefillParams;

// Over a PrefillShape. COPY_OUT: O goes out by TMA, which holds the Q buffer longer.
// CARRY: the next tile's first product is issued with this one's last.
template <class Base>
struct Shape : Base {
  static constexpr bool COPY_OUT = Base::QB > 1;
  static constexpr bool CARRY = CARRY_OVER && Base::QB > 1 && !Base::SPLIT && Base::MASKS == 0;
  // Half a causal step has the mask and the softmax of half a step; above 64 columns, where a step
  // has more products to hide the softmax behind, the second copy of it costs more than it saves.
  static constexpr bool HALVES = Base::CAUSAL_ENDS && Base::COLS <= 64;
  // Not beside HALVES: with three copies of the softmax ptxas serializes the products.
  static constexpr bool THREE_WAY_MAXIMA = THREES && Base::COLS <= 128 && !HALVES;
  static constexpr bool k_ordered = PING_PONG && Base::COLS <= 128 && !Base::SPLIT;
  // A warpgroup that leaves out the ends of a tile holds its last V until it knows of the next
  // tile. The block's last tile tells it that there is none behind its own last V: with as many
  // steps left out as there are stages this V would wait for the one that is held.
  static_assert(!Base::CAUSAL_ENDS ||
                (64 * (Base::WGS - 1) + Base::BN - 1) / Base::BN < Base::STAGES);
};

// Of Q K^T, which takes 16 columns at a time: what a head dim lacks to a multiple reads as zeros.
template <class S>
struct Scores {
  using T = typename S::T;
  static constexpr int COLS = (S::COLS + 15) / 16 * 16, BN = S::BN;
};

template <class S>
struct Barriers {
  uint32_t base;
  static constexpr int k_k = 0, k_v = 2 * S::STAGES, k_q = 4 * S::STAGES;
  static constexpr int k_mask = k_q + 2 * S::QB * S::WGS, k_all = k_mask + 2 * S::MASKS;
  static_assert(8 * k_all <= 256);
  __device__ uint32_t full_k(int stage) const { return base + 8 * (k_k + stage); }
  __device__ uint32_t empty_k(int stage) const { return base + 8 * (k_k + S::STAGES + stage); }
  __device__ uint32_t full_v(int stage) const { return base + 8 * (k_v + stage); }
  __device__ uint32_t empty_v(int stage) const { return base + 8 * (k_v + S::STAGES + stage); }
  __device__ uint32_t full_q(int q) const { return base + 8 * (k_q + q); }
  __device__ uint32_t empty_q(int q) const { return base + 8 * (k_q + S::QB * S::WGS + q); }
  __device__ uint32_t full_mask(int stage) const { return base + 8 * (k_mask + stage); }
  __device__ uint32_t empty_mask(int stage) const { return base + 8 * (k_mask + S::MASKS + stage); }
};

// The producer, one thread: for each work tile its index and Q for every warpgroup, then K one step
// ahead of V, the order in which they are read; the next tile's Q and first K come before this
// one's last V. A tile is taken when the one before is loaded, which is a few steps before it is
// finished.
template <class S>
__device__ __forceinline__ void produce(const Params& p, const CUtensorMap* map_q,
                                        const CUtensorMap* map_k, const CUtensorMap* map_v,
                                        const CUtensorMap* map_mask, unsigned char* smem,
                                        uint32_t base, const Barriers<S>& bar) {
  int* work_indices = reinterpret_cast<int*>(smem + S::k_work_indices);
  PipelineState<S::STAGES> k;
  PipelineState<S::STAGES> v;
  PipelineState<S::MASKS> m;
  PipelineState<S::QB> q;
  const auto load_q = [&](const WorkTile& t, int index) {
    for (int wg = 0; wg < S::WGS; ++wg) {
      const int at = S::QB * wg + q.stage;
      mbarrier_wait_parity(bar.empty_q(at), q.phase ^ 1);
      work_indices[at] = index;
      load_box<64, S::DP>(base + at * S::k_q_group_bytes, map_q, bar.full_q(at),
                          t.first_row + S::k_rows_apart * wg, t.head, t.batch);
    }
    q.advance();
  };
  const auto load_k = [&](const WorkTile& t, int step) {
    if (step >= t.steps) return;
    mbarrier_wait_parity(bar.empty_k(k.stage), k.phase ^ 1);
    load_box<S::BN, S::DP>(base + S::k_k_ring + k.stage * S::k_tile_bytes, map_k,
                           bar.full_k(k.stage), step * S::BN, t.head_kv, t.batch);
    k.advance();
  };
  const auto load_v = [&](const WorkTile& t, int step) {
    mbarrier_wait_parity(bar.empty_v(v.stage), v.phase ^ 1);
    load_box<S::BN, S::DP>(base + S::k_v_ring + v.stage * S::k_tile_bytes, map_v,
                           bar.full_v(v.stage), step * S::BN, t.head_kv, t.batch);
    v.advance();
  };
  const auto load_m = [&](const WorkTile& t, int step) {
    if constexpr (S::MASKS > 0) {
      if (step >= t.steps) return;
      mbarrier_wait_parity(bar.empty_mask(m.stage), m.phase ^ 1);
      load_mask<S>(p, map_mask, base + S::k_mask_ring + m.stage * S::k_mask_bytes,
                   bar.full_mask(m.stage), t, step);
      m.advance();
    }
  };
  // A single buffer of Q comes free with the tile before: K need not wait for that.
  const auto begin = [&](const WorkTile& t, int index) {
    if (S::QB > 1) load_q(t, index);
    load_k(t, 0);
  };
  int index = blockIdx.x;
  WorkTile t = work_tile_at<S>(p, index);
  begin(t, index);
  if (S::QB == 1) load_q(t, index);
  load_m(t, 0);
  for (;;) {
    int answer = 0;
    if (t.steps < 2) answer = request_work(p);
    for (int step = 0; step + 1 < t.steps; ++step) {
      if (step + 2 == t.steps) answer = request_work(p);
      load_k(t, step + 1);
      load_v(t, step);
      load_m(t, step + 1);
    }
    index = requested_work(p, answer);
    const bool more = index < p.tiles;
    WorkTile next = t;
    if (more) {
      next = work_tile_at<S>(p, index);
      begin(next, index);
    }
    if (t.steps > 0) load_v(t, t.steps - 1);
    if (!more) break;
    if (S::QB == 1) load_q(next, index);
    load_m(next, 0);
    t = next;
  }
  for (int wg = 0; wg < S::WGS; ++wg) {
    const int at = S::QB * wg + q.stage;
    mbarrier_wait_parity(bar.empty_q(at), q.phase ^ 1);
    work_indices[at] = -1;
    mbarrier_arrive(bar.full_q(at));
  }
}

}  // namespace wb::gpu
