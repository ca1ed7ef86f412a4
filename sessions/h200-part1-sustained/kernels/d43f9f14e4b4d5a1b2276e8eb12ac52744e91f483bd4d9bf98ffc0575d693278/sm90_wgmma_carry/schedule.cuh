// SPDX-License-Identifier: MIT
// Parameters, shape and barriers of sm90_wgmma_carry, and the thread that loads. Tiles and their
// copies: prefill_schedule.cuh.
#pragma once

#include "prefill_schedule.cuh"
#include "sdpa_abi.h"

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

// Over a PrefillShape. COPY_OUT: O goes out by the copy engine, which holds the Q buffer longer.
// CARRY: the next tile's first product is issued with this one's last.
template <class Base>
struct Shape : Base {
  static constexpr bool COPY_OUT = Base::QB > 1;
  static constexpr bool CARRY = CARRY_OVER && Base::QB > 1 && !Base::SPLIT && Base::MASKS == 0;
  // Half a causal step is masked and weighed by half; above 64 columns, where a step has more
  // products to hide the softmax behind, the second copy of it costs more than it saves.
  static constexpr bool HALVES = Base::CAUSAL_ENDS && Base::COLS <= 64;
  // Not beside HALVES: with three copies of the softmax ptxas serializes the products.
  static constexpr bool THREE_WAY_MAXIMA = THREES && Base::COLS <= 128 && !HALVES;
  static constexpr bool k_turns = PING_PONG && Base::COLS <= 128 && !Base::SPLIT;
  // Steps that are left out:
  static_assert(!Base::TRIM || (64 * (Base::WGS - 1) + Base::BN - 1) / Base::BN <= Base::STAGES);
};

template <class S>
struct Barriers {
  uint32_t base;
  static constexpr int k_k = 0, k_v = 2 * S::STAGES, k_q = 4 * S::STAGES;
  static constexpr int k_mask = k_q + 2 * S::QB * S::WGS, k_all = k_mask + 2 * S::MASKS;
  static_assert(8 * k_all <= 256);
  __device__ uint32_t full_k(int slot) const { return base + 8 * (k_k + slot); }
  __device__ uint32_t empty_k(int slot) const { return base + 8 * (k_k + S::STAGES + slot); }
  __device__ uint32_t full_v(int slot) const { return base + 8 * (k_v + slot); }
  __device__ uint32_t empty_v(int slot) const { return base + 8 * (k_v + S::STAGES + slot); }
  __device__ uint32_t full_q(int q) const { return base + 8 * (k_q + q); }
  __device__ uint32_t empty_q(int q) const { return base + 8 * (k_q + S::QB * S::WGS + q); }
  __device__ uint32_t full_mask(int slot) const { return base + 8 * (k_mask + slot); }
  __device__ uint32_t empty_mask(int slot) const { return base + 8 * (k_mask + S::MASKS + slot); }
};

// Asks for the tile after the ones handed out so far. The answer takes as long as the L2, so it is
// asked for a step before it is needed; a whole tile before, blocks would hold tiles that others
// could begin, and under a causal rule that cost up to 19 %.
__device__ __forceinline__ int ask_for_tile(const Params& p) {
  return p.counter == nullptr ? p.tiles : atomicAdd(p.counter, 1);
}

// The tile that the answer stands for, or p.tiles. There are as many hand-outs as tiles: the last
// one sets the counter back for the next call.
__device__ __forceinline__ int tile_of_answer(const Params& p, int handed) {
  if (p.counter == nullptr) return p.tiles;
  if (handed == p.tiles - 1) *p.counter = 0;
  return int(min(int64_t(p.tiles), int64_t(handed) + gridDim.x));
}

// The loading thread: for each tile its index and Q for every warpgroup, then K one step ahead of
// V, the order in which they are read; the next tile's Q and first K come before this one's last V.
// A tile is taken when the one before is loaded, which is a few steps before it is finished.
template <class S>
__device__ __forceinline__ void feed(const Params& p, const CUtensorMap* map_q,
                                     const CUtensorMap* map_k, const CUtensorMap* map_v,
                                     const CUtensorMap* map_mask, unsigned char* smem,
                                     uint32_t base, const Barriers<S>& bar) {
  int* indices = reinterpret_cast<int*>(smem + S::k_indices);
  Place<S::STAGES> k;
  Place<S::STAGES> v;
  Place<S::MASKS> m;
  Place<S::QB> q;
  const auto load_q = [&](const Tile& t, int index) {
    for (int wg = 0; wg < S::WGS; ++wg) {
      const int at = S::QB * wg + q.slot;
      mbarrier_wait_parity(bar.empty_q(at), q.parity ^ 1);
      indices[at] = index;
      load_box<64, S::DP>(base + at * S::k_q_group_bytes, map_q, bar.full_q(at),
                          t.first_row + S::k_rows_apart * wg, t.head, t.batch);
    }
    q.advance();
  };
  const auto load_k = [&](const Tile& t, int step) {
    if (step >= t.steps) return;
    mbarrier_wait_parity(bar.empty_k(k.slot), k.parity ^ 1);
    load_box<S::BN, S::DP>(base + S::k_k_ring + k.slot * S::k_tile_bytes, map_k, bar.full_k(k.slot),
                           step * S::BN, t.head_kv, t.batch);
    k.advance();
  };
  const auto load_v = [&](const Tile& t, int step) {
    mbarrier_wait_parity(bar.empty_v(v.slot), v.parity ^ 1);
    load_box<S::BN, S::DP>(base + S::k_v_ring + v.slot * S::k_tile_bytes, map_v, bar.full_v(v.slot),
                           step * S::BN, t.head_kv, t.batch);
    v.advance();
  };
  const auto load_m = [&](const Tile& t, int step) {
    if constexpr (S::MASKS > 0) {
      if (step >= t.steps) return;
      mbarrier_wait_parity(bar.empty_mask(m.slot), m.parity ^ 1);
      load_mask<S>(p, map_mask, base + S::k_mask_ring + m.slot * S::k_mask_bytes,
                   bar.full_mask(m.slot), t, step);
      m.advance();
    }
  };
  // A single buffer of Q comes free with the tile before: K need not wait for that.
  const auto begin = [&](const Tile& t, int index) {
    if (S::QB > 1) load_q(t, index);
    load_k(t, 0);
  };
  int index = blockIdx.x;
  Tile t = tile_at<S>(p, index);
  begin(t, index);
  if (S::QB == 1) load_q(t, index);
  load_m(t, 0);
  for (;;) {
    int answer = 0;
    if (t.steps < 2) answer = ask_for_tile(p);
    for (int step = 0; step + 1 < t.steps; ++step) {
      if (step + 2 == t.steps) answer = ask_for_tile(p);
      load_k(t, step + 1);
      load_v(t, step);
      load_m(t, step + 1);
    }
    index = tile_of_answer(p, answer);
    const bool more = index < p.tiles;
    Tile next = t;
    if (more) {
      next = tile_at<S>(p, index);
      begin(next, index);
    }
    if (t.steps > 0) load_v(t, t.steps - 1);
    if (!more) break;
    if (S::QB == 1) load_q(next, index);
    load_m(next, 0);
    t = next;
  }
  for (int wg = 0; wg < S::WGS; ++wg) {
    const int at = S::QB * wg + q.slot;
    mbarrier_wait_parity(bar.empty_q(at), q.parity ^ 1);
    indices[at] = -1;
    mbarrier_arrive(bar.full_q(at));
  }
}

}  // namespace wb::gpu
