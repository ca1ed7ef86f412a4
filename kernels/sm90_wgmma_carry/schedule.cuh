// SPDX-License-Identifier: MIT
// Shapes of sm90_wgmma_carry, the order in which blocks take tiles, and the thread that loads.
#pragma once

#include "mbarrier.cuh"
#include "sdpa_abi.h"
#include "tma.cuh"

#include <cstdint>

#ifndef CARRY_OVER  // 1: up to 128 columns the next tile's first Q K^T is issued before this one's
                    // last P V is waited for; 0: tile after tile
#define CARRY_OVER 1
#endif
#ifndef EARLY_START  // 1: the kernel may start while the one before it in the stream drains
#define EARLY_START 1
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
  bool ask_early;            // tiles are asked for one tile ahead
  int hand_outs;             // one for each tile, and one more for each block that asks ahead
  int heads, section_heads;  // heads of all batches; how many of them are walked side by side
  bool negate;               // the scale's sign, folded into Q
  float scale_log2;          // magnitude, above zero
  float scale;               // the same in natural units, for masked scores
  int mask_batch, mask_head, mask_row;  // 1 where the mask has that dimension, 0 where it repeats
};

// COLS columns of the head dim are computed, of DP (a multiple of 64) that lie in shared memory.
// WGS computing warpgroups of 64 rows and one that loads; BN keys a step. QB: buffers of Q. MASKS:
// stages of the ring of mask tiles, 0 without a mask. TRIM: a warpgroup leaves out what its own
// last row cannot see: whole steps, and P V of the second half of its last one. SPLIT: the two
// warpgroups have the same 64 rows and every other step each, and are merged at the end.
template <typename T_, int COLS_, int WGS_, int BN_, int STAGES_, int QB_ = 2, int MASKS_ = 0,
          bool TRIM_ = false, bool SPLIT_ = false>
struct Shape {
  using T = T_;
  static constexpr int COLS = COLS_, DP = (COLS + 63) / 64 * 64, WGS = WGS_, BN = BN_;
  static constexpr int STAGES = STAGES_, QB = QB_, MASKS = MASKS_;
  static constexpr bool TRIM = TRIM_, SPLIT = SPLIT_;
  static_assert(!SPLIT || (WGS == 2 && MASKS == 0 && !TRIM));
  static constexpr int k_rows_apart = SPLIT ? 0 : 64;    // of neighbouring warpgroups
  static constexpr int k_readers = SPLIT ? 4 : 4 * WGS;  // warps that read a tile of K or V
  static constexpr bool COPY_OUT = QB > 1;  // O by the copy engine, which holds the Q buffer longer
  static constexpr bool CARRY = CARRY_OVER && QB > 1 && !SPLIT && MASKS == 0;
  static_assert(!TRIM || (64 * (WGS - 1) + BN - 1) / BN <= STAGES);  // steps that are left out
  static constexpr bool k_turns = PING_PONG && COLS <= 128 && !SPLIT;
  static constexpr int k_short_keys = BN / 32 * 16;  // of a step whose second half is left out
  static constexpr int k_rows = SPLIT ? 64 : 64 * WGS;
  static constexpr int k_threads = 128 * (WGS + 1);
  static constexpr int k_loader_registers = WGS == 3 ? 32 : 40;
  static constexpr int k_worker_registers = WGS == 3 ? 160 : 232;
  static constexpr int k_q_group_bytes = 64 * DP * 2;  // of one warpgroup
  static constexpr int k_tile_bytes = BN * DP * 2;
  static constexpr int k_k_ring = QB * WGS * k_q_group_bytes;  // offsets, behind Q
  static constexpr int k_v_ring = k_k_ring + STAGES * k_tile_bytes;
  static constexpr int k_mask_group_bytes = 64 * BN * 2;  // of one warpgroup
  static constexpr int k_mask_bytes = WGS * k_mask_group_bytes;
  static constexpr int k_mask_ring = k_v_ring + STAGES * k_tile_bytes;
  static constexpr int k_merge = k_mask_ring + MASKS * k_mask_bytes;
  static constexpr int k_barriers = k_merge + (SPLIT ? (COLS / 2 + 4) * 128 * 4 : 0);
  static constexpr int k_indices = k_barriers + 256;  // of the tiles that Q belongs to
  static constexpr int k_smem_bytes = k_indices + 64;
  static_assert(k_smem_bytes <= 227 * 1024);
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

// A place in a ring of Stages slots; the parity changes with every turn.
template <int Stages>
struct Place {
  int slot = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance(int steps = 1) {
    slot += steps;
    if (steps > 1) {
      parity ^= slot / Stages & 1;
      slot %= Stages;
    } else if (slot == Stages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

struct Tile {
  int batch, head, head_kv, first_row, steps;
};

// Tiles are numbered section by section; within a section row blocks with more keys come first.
template <class S>
__device__ __forceinline__ Tile tile_at(const Params& p, int index) {
  const int section = index / (p.section_heads * p.row_blocks);
  const int first_head = section * p.section_heads;
  const int heads_here = min(p.section_heads, p.heads - first_head);
  const int rest = index - first_head * p.row_blocks;
  const int head = first_head + rest % heads_here;
  Tile t;
  t.first_row = (p.row_blocks - 1 - rest / heads_here) * S::k_rows;
  t.batch = head / p.heads_q;
  t.head = head % p.heads_q;
  t.head_kv = t.head / p.group;
  const int last_query = min(t.first_row + S::k_rows, p.seq_q) - 1;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  t.steps = (keys + S::BN - 1) / S::BN;
  return t;
}

// Asks for the tile after the ones handed out so far. The answer takes as long as the L2, so it is
// asked for before it is needed.
__device__ __forceinline__ int ask_for_tile(const Params& p) {
  return p.counter == nullptr ? p.tiles : atomicAdd(p.counter, 1);
}

// The tile that the answer stands for, or p.tiles and more. The last hand-out sets the counter back
// for the next call.
__device__ __forceinline__ int tile_of_answer(const Params& p, int handed) {
  if (p.counter == nullptr) return p.tiles;
  if (handed == p.hand_outs - 1) *p.counter = 0;
  return int(min(int64_t(p.tiles), int64_t(handed) + gridDim.x));
}

template <int Rows, int DP>
__device__ __forceinline__ void load_box(uint32_t smem, const CUtensorMap* map, uint32_t barrier,
                                         int row, int head, int batch) {
  mbarrier_arrive_expect_tx(barrier, Rows * DP * 2);
#pragma unroll
  for (int slab = 0; slab < DP / 64; ++slab) {
    cp_async_bulk_tensor_4d(smem + slab * Rows * 128, map, barrier, slab * 64, row, head, batch);
  }
}

template <class S>
__device__ __forceinline__ void load_mask(const Params& p, const CUtensorMap* map, uint32_t smem,
                                          uint32_t barrier, const Tile& t, int step) {
  mbarrier_arrive_expect_tx(barrier, S::k_mask_bytes);
#pragma unroll
  for (int wg = 0; wg < S::WGS; ++wg) {
#pragma unroll
    for (int slab = 0; slab < S::BN / 64; ++slab) {
      cp_async_bulk_tensor_4d(smem + wg * S::k_mask_group_bytes + slab * (64 * 128), map, barrier,
                              step * S::BN + slab * 64, (t.first_row + 64 * wg) * p.mask_row,
                              t.head * p.mask_head, t.batch * p.mask_batch);
    }
  }
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
  int ahead = p.ask_early ? ask_for_tile(p) : 0;
  for (;;) {
    int answer = ahead;
    if (p.ask_early) ahead = ask_for_tile(p);
    if (!p.ask_early && t.steps < 2) answer = ask_for_tile(p);
    for (int step = 0; step + 1 < t.steps; ++step) {
      if (!p.ask_early && step + 2 == t.steps) answer = ask_for_tile(p);
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
  if (p.ask_early) tile_of_answer(p, ahead);  // it may be the last hand-out
  for (int wg = 0; wg < S::WGS; ++wg) {
    const int at = S::QB * wg + q.slot;
    mbarrier_wait_parity(bar.empty_q(at), q.parity ^ 1);
    indices[at] = -1;
    mbarrier_arrive(bar.full_q(at));
  }
}

}  // namespace wb::gpu
