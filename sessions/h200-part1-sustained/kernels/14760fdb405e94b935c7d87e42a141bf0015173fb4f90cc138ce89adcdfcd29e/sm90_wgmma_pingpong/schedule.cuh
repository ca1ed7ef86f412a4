// SPDX-License-Identifier: MIT
// Parameters, shape and barriers of sm90_wgmma_pingpong, and the thread that loads. Tiles and their
// copies: prefill_schedule.cuh.
#pragma once

#include "prefill_schedule.cuh"
#include "sdpa_abi.h"

#ifndef PING_PONG  // 1: the computing warpgroups take turns up to 128 columns; 0: nothing orders
                   // them
#define PING_PONG 1
#endif

namespace wb::gpu {

struct Params {
  void* out;
  float* lse;
  int* counter;  // tiles handed out beyond the first of each block; nullptr: one tile a block
  wb_strides so;
  int heads_q, group, seq_q, seq_kv, dim_v;
  int causal_offset;  // a row keeps key <= query + offset; seq_kv without a causal rule
  int row_blocks, tiles;
  int heads, section_heads;  // heads of all batches; how many of them are walked side by side
  bool negate;               // the scale's sign, folded into Q
  float scale_log2;          // magnitude, above zero
  float scale;               // the same in natural units, for masked scores
  int mask_batch, mask_head, mask_row;  // 1 where the mask has that dimension, 0 where it repeats
};

// Over a PrefillShape or Thirds of one, whose warpgroups share one tile of Q.
template <class Base>
struct Shape : Base {
  static constexpr bool k_turns = PING_PONG && Base::COLS <= 128 && !Base::SPLIT;
  static constexpr bool k_thirds = Base::SPLIT && Base::WGS == 3;
  static constexpr int k_q_copies = k_thirds ? 1 : Base::WGS;
  static constexpr int k_q_readers = 128 * Base::WGS / k_q_copies;  // threads, of a copy
  static constexpr int k_mbarriers = 4 * Base::STAGES + 2 * Base::QB * k_q_copies + 2 * Base::MASKS;
  static_assert(8 * k_mbarriers <= Base::k_indices - Base::k_barriers);
};

template <class S>
struct Barriers {
  uint32_t base;
  __device__ uint32_t full_k(int slot) const { return base + 8 * slot; }
  __device__ uint32_t full_v(int slot) const { return base + 8 * (S::STAGES + slot); }
  __device__ uint32_t empty_k(int slot) const { return base + 8 * (2 * S::STAGES + slot); }
  __device__ uint32_t empty_v(int slot) const { return base + 8 * (3 * S::STAGES + slot); }
  __device__ uint32_t full_q(int q) const { return base + 8 * (4 * S::STAGES + q); }
  __device__ uint32_t empty_q(int q) const {
    return base + 8 * (4 * S::STAGES + S::QB * S::WGS + q);
  }
  __device__ uint32_t full_mask(int slot) const {
    return base + 8 * (4 * S::STAGES + 2 * S::QB * S::WGS + slot);
  }
  __device__ uint32_t empty_mask(int slot) const {
    return base + 8 * (4 * S::STAGES + 2 * S::QB * S::WGS + S::MASKS + slot);
  }
};

// The tile after the ones handed out so far, or p.tiles. There are as many hand-outs as tiles: the
// last one sets the counter back for the next call.
__device__ __forceinline__ int next_tile(const Params& p) {
  if (p.counter == nullptr) return p.tiles;
  const int handed = atomicAdd(p.counter, 1);
  if (handed == p.tiles - 1) *p.counter = 0;
  return int(min(int64_t(p.tiles), int64_t(handed) + gridDim.x));
}

// The loading thread: for each tile its index and Q for every warpgroup, then K one step ahead of
// V, the order in which they are read. A tile is taken when the one before is loaded, which is a
// few steps before it is finished.
template <class S>
__device__ __forceinline__ void feed(const Params& p, const CUtensorMap* map_q,
                                     const CUtensorMap* map_k, const CUtensorMap* map_v,
                                     const CUtensorMap* map_mask, unsigned char* smem,
                                     uint32_t base, const Barriers<S>& bar) {
  int* indices = reinterpret_cast<int*>(smem + S::k_indices);
  Place<S::STAGES> k, v;
  Place<S::MASKS> m;
  Place<S::QB> q;
  for (int index = blockIdx.x; index < p.tiles; index = next_tile(p)) {
    const Tile t = tile_at<S>(p, index);
    const auto load_k = [&](int step) {
      mbarrier_wait_parity(bar.empty_k(k.slot), k.parity ^ 1);
      load_box<S::BN, S::DP>(base + S::k_k_ring + k.slot * S::k_tile_bytes, map_k,
                             bar.full_k(k.slot), step * S::BN, t.head_kv, t.batch);
      k.advance();
    };
    const auto load_m = [&](int step) {
      if constexpr (S::MASKS > 0) {
        mbarrier_wait_parity(bar.empty_mask(m.slot), m.parity ^ 1);
        load_mask<S>(p, map_mask, base + S::k_mask_ring + m.slot * S::k_mask_bytes,
                     bar.full_mask(m.slot), t, step);
        m.advance();
      }
    };
    // A single buffer of Q comes free with the tile before: K need not wait for that.
    if (S::QB == 1 && t.steps > 0) load_k(0);
    for (int wg = 0; wg < S::k_q_copies; ++wg) {
      const int at = S::QB * wg + q.slot;
      mbarrier_wait_parity(bar.empty_q(at), q.parity ^ 1);
      indices[at] = index;
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
      mbarrier_wait_parity(bar.empty_v(v.slot), v.parity ^ 1);
      load_box<S::BN, S::DP>(base + S::k_v_ring + v.slot * S::k_tile_bytes, map_v,
                             bar.full_v(v.slot), step * S::BN, t.head_kv, t.batch);
      v.advance();
      if (step + 1 < t.steps) load_m(step + 1);
    }
  }
  for (int wg = 0; wg < S::k_q_copies; ++wg) {
    const int at = S::QB * wg + q.slot;
    mbarrier_wait_parity(bar.empty_q(at), q.parity ^ 1);
    indices[at] = -1;
    mbarrier_arrive(bar.full_q(at));
  }
}

}  // namespace wb::gpu
