// SPDX-License-Identifier: MIT
// Shape and barriers of sm90_wgmma_pingpong, and the producer. Parameters and what the shape
// derives from: prefill_pipeline.cuh.
#pragma once

#include "sm90/prefill_pipeline.cuh"

#ifndef PING_PONG  // 1: up to 128 columns the ordered barrier lets one consumer warpgroup issue its
                   // products at a time; 0: nothing orders them
#define PING_PONG 1
#endif

namespace wb::gpu {

using Params = PrefillParams;

// Over a PrefillShape or Thirds of one, whose warpgroups share one tile of Q.
template <class Base>
struct Shape : Base {
  static constexpr bool k_ordered = PING_PONG && Base::COLS <= 128 && !Base::SPLIT;
  static constexpr bool k_thirds = Base::SPLIT && Base::WGS == 3;
  static constexpr int k_q_copies = k_thirds ? 1 : Base::WGS;
  static constexpr int k_q_readers = 128 * Base::WGS / k_q_copies;  // threads, of a copy
  static constexpr int k_mbarriers = 4 * Base::STAGES + 2 * Base::QB * k_q_copies + 2 * Base::MASKS;
  static_assert(8 * k_mbarriers <= Base::k_work_indices - Base::k_barriers);
};

template <class S>
struct Barriers {
  uint32_t base;
  __device__ uint32_t full_k(int stage) const { return base + 8 * stage; }
  __device__ uint32_t full_v(int stage) const { return base + 8 * (S::STAGES + stage); }
  __device__ uint32_t empty_k(int stage) const { return base + 8 * (2 * S::STAGES + stage); }
  __device__ uint32_t empty_v(int stage) const { return base + 8 * (3 * S::STAGES + stage); }
  __device__ uint32_t full_q(int q) const { return base + 8 * (4 * S::STAGES + q); }
  __device__ uint32_t empty_q(int q) const {
    return base + 8 * (4 * S::STAGES + S::QB * S::WGS + q);
  }
  __device__ uint32_t full_mask(int stage) const {
    return base + 8 * (4 * S::STAGES + 2 * S::QB * S::WGS + stage);
  }
  __device__ uint32_t empty_mask(int stage) const {
    return base + 8 * (4 * S::STAGES + 2 * S::QB * S::WGS + S::MASKS + stage);
  }
};

// The producer, one thread: for each work tile its index and Q for every warpgroup, then K one step
// ahead of V, the order in which they are read. A tile is taken when the one before is loaded,
// which is a few steps before it is finished.
template <class S>
__device__ __forceinline__ void produce(const Params& p, const CUtensorMap* map_q,
                                        const CUtensorMap* map_k, const CUtensorMap* map_v,
                                        const CUtensorMap* map_mask, unsigned char* smem,
                                        uint32_t base, const Barriers<S>& bar) {
  int* work_indices = reinterpret_cast<int*>(smem + S::k_work_indices);
  PipelineState<S::STAGES> k, v;
  PipelineState<S::MASKS> m;
  PipelineState<S::QB> q;
  for (int index = blockIdx.x; index < p.tiles; index = next_work(p)) {
    const WorkTile t = work_tile_at<S>(p, index);
    const auto load_k = [&](int step) {
      mbarrier_wait_parity(bar.empty_k(k.stage), k.phase ^ 1);
      load_box<S::BN, S::DP>(base + S::k_k_ring + k.stage * S::k_tile_bytes, map_k,
                             bar.full_k(k.stage), step * S::BN, t.head_kv, t.batch);
      k.advance();
    };
    const auto load_m = [&](int step) {
      if constexpr (S::MASKS > 0) {
        mbarrier_wait_parity(bar.empty_mask(m.stage), m.phase ^ 1);
        load_mask<S>(p, map_mask, base + S::k_mask_ring + m.stage * S::k_mask_bytes,
                     bar.full_mask(m.stage), t, step);
        m.advance();
      }
    };
    // A single buffer of Q comes free with the tile before: K need not wait for that.
    if (S::QB == 1 && t.steps > 0) load_k(0);
    for (int wg = 0; wg < S::k_q_copies; ++wg) {
      const int at = S::QB * wg + q.stage;
      mbarrier_wait_parity(bar.empty_q(at), q.phase ^ 1);
      work_indices[at] = index;
      load_box<64, S::DP>(base + at * S::k_q_group_bytes, map_q, bar.full_q(at),
                          t.first_row + S::k_rows_apart * wg, t.head, t.batch);
    }
    q.advance();
    if (t.steps > 0) {
      if (S::QB > 1) load_k(0);
      load_m(0);
    }
    for (int step = 0; step < t.steps; ++step) {
      if (step + 1 < t.steps) load_k(step + 1);
      mbarrier_wait_parity(bar.empty_v(v.stage), v.phase ^ 1);
      load_box<S::BN, S::DP>(base + S::k_v_ring + v.stage * S::k_tile_bytes, map_v,
                             bar.full_v(v.stage), step * S::BN, t.head_kv, t.batch);
      v.advance();
      if (step + 1 < t.steps) load_m(step + 1);
    }
  }
  for (int wg = 0; wg < S::k_q_copies; ++wg) {
    const int at = S::QB * wg + q.stage;
    mbarrier_wait_parity(bar.empty_q(at), q.phase ^ 1);
    work_indices[at] = -1;
    mbarrier_arrive(bar.full_q(at));
  }
}

}  // namespace wb::gpu
