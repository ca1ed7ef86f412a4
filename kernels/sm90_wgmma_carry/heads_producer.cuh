// SPDX-License-Identifier: MIT
// The schedule by heads of sm90_wgmma_carry: its shape and barriers, which units a warpgroup has
// and which tiles of K and V they need, and the producers. Idea: heads.cuh. Where a block's units
// begin and end: heads_plan.hpp.
#pragma once

#include "heads_plan.hpp"
#include "producer.cuh"

namespace wb::gpu {

struct HeadParams : Params {
  int cuts[k_most_cuts + 1];
};

// KS, VS, QB: stages of the pipelines of K, V and each warpgroup's Q.
template <typename T_, bool CAUSAL_>
struct HeadShape {
  using T = T_;
  static constexpr int COLS = 64, DP = 64, WGS = 3, BN = 128, KS = 6, VS = 5, QB = 2;
  static constexpr bool CAUSAL = CAUSAL_;
  // A causal unit's first step may have the softmax of half of its keys only. Not beside maxima by
  // threes: with three copies of the softmax ptxas serializes the products.
  static constexpr bool HALVES = CAUSAL, THREE_WAY_MAXIMA = THREES && !HALVES;
  static constexpr bool CARRY = CARRY_OVER != 0;
  static constexpr int k_resident = VS;  // tiles of a pass over K and V that all units share
  static constexpr int k_short_keys = BN / 2;
  static constexpr int k_threads = 128 * (WGS + 1);
  static constexpr int k_producer_registers = 32, k_consumer_registers = 160;
  static constexpr int k_q_group_bytes = k_unit_rows * DP * 2, k_tile_bytes = BN * DP * 2;
  static constexpr int k_k_ring = QB * WGS * k_q_group_bytes;  // offsets, behind Q
  static constexpr int k_v_ring = k_k_ring + KS * k_tile_bytes;
  static constexpr int k_barriers = k_v_ring + VS * k_tile_bytes;
  static constexpr int k_smem_bytes = k_barriers + 8 * (2 * KS + 2 * VS + 2 * QB * WGS);
  static_assert(k_smem_bytes <= 227 * 1024);
};

template <class S>
struct HeadBarriers {
  uint32_t base;
  static constexpr int k_v = 2 * S::KS, k_q = k_v + 2 * S::VS;
  __device__ uint32_t full_k(int stage) const { return base + 8 * stage; }
  __device__ uint32_t empty_k(int stage) const { return base + 8 * (S::KS + stage); }
  __device__ uint32_t full_v(int stage) const { return base + 8 * (k_v + stage); }
  __device__ uint32_t empty_v(int stage) const { return base + 8 * (k_v + S::VS + stage); }
  __device__ uint32_t full_q(int q) const { return base + 8 * (k_q + q); }
  __device__ uint32_t empty_q(int q) const { return base + 8 * (k_q + S::QB * S::WGS + q); }
};

// For the n-th tile that goes through the pipeline.
template <int Stages>
__device__ __forceinline__ PipelineState<Stages> pipeline_state_of(int n) {
  PipelineState<Stages> p;
  p.stage = n % Stages;
  p.phase = n / Stages & 1;
  return p;
}

// A pass over K and V of a head: `count` units from the `first` on, over `steps` tiles of keys.
// Where these fit the pipelines it takes all that is left of the head, and a tile stays until the
// last unit that sees it; longer ones go three units at a time.
struct Pass {
  int batch, head_of_batch, head;
  int rotation;      // which warpgroup has the first unit: it changes from head to head
  int origin;        // the block's first unit of the head
  int first, count;  // units of the pass
  int steps, base;   // tiles of the pass; tiles that the block had before
  int stop;          // number of the unit that the block's run ends before
};

// Keys that the i-th unit from the end sees.
__device__ __forceinline__ int keys_of_unit(const Params& p, int i) {
  const int last_row = min((p.row_blocks - 1 - i) * k_unit_rows + k_unit_rows - 1, p.seq_q - 1);
  return max(0, min(p.seq_kv, last_row + p.causal_offset + 1));
}

template <class S>
__device__ __forceinline__ int steps_of_unit(const Params& p, int i) {
  return (keys_of_unit(p, i) + S::BN - 1) / S::BN;
}

template <class S>
__device__ __forceinline__ void open_pass(const Params& p, Pass& e) {
  e.steps = steps_of_unit<S>(p, e.first);
  const int left = min(p.row_blocks - e.first, e.stop - (e.head * p.row_blocks + e.first));
  e.count = e.steps > S::k_resident ? min(S::WGS, left) : left;
}

template <class S>
__device__ __forceinline__ Pass first_pass(const HeadParams& p) {
  Pass e = {};
  const int from = p.cuts[blockIdx.x];
  e.head = from / p.row_blocks;
  e.first = e.origin = from - e.head * p.row_blocks;
  e.stop = p.cuts[blockIdx.x + 1];
  e.batch = e.head / p.heads_q;
  e.head_of_batch = e.head - e.batch * p.heads_q;
  open_pass<S>(p, e);
  return e;
}

// False: the block's run is over.
template <class S>
__device__ __forceinline__ bool next_pass(const Params& p, Pass& e) {
  e.base += e.steps;
  e.first += e.count;
  if (e.head * p.row_blocks + e.first >= e.stop) return false;
  if (e.first >= p.row_blocks) {
    e.first = e.origin = 0;
    ++e.head;
    if (++e.head_of_batch == p.heads_q) {
      e.head_of_batch = 0;
      ++e.batch;
    }
    e.rotation = e.rotation == S::WGS - 1 ? 0 : e.rotation + 1;
  }
  open_pass<S>(p, e);
  return true;
}

// Units are dealt out in triples, forth and back (ABC CBA ...), since they become shorter. The
// triple that a pass begins with:
__device__ __forceinline__ int first_triple(const Pass& e) {
  return (e.first - e.origin) / 3;
}

// A warpgroup's unit of a triple; there is none where it does not lie below the pass's end.
__device__ __forceinline__ int unit_of(const Pass& e, int wg, int triple) {
  int position = wg + e.rotation;
  if (position >= 3) position -= 3;
  return e.origin + 3 * triple + ((triple & 1) ? 2 - position : position);
}

// The producer of K and V: of all passes of the block, keys from the diagonal down, K one tile
// ahead.
template <class S>
__device__ __forceinline__ void produce_kv(const HeadParams& p, const CUtensorMap* map_k,
                                           const CUtensorMap* map_v, uint32_t base,
                                           const HeadBarriers<S>& bar) {
  PipelineState<S::KS> k;
  PipelineState<S::VS> v;
  int tile = -1, head = 0, batch = 0;  // of the V that comes next
  const auto load_v = [&] {
    if (tile < 0) return;
    mbarrier_wait_parity(bar.empty_v(v.stage), v.phase ^ 1);
    load_box<S::BN, S::DP>(base + S::k_v_ring + v.stage * S::k_tile_bytes, map_v,
                           bar.full_v(v.stage), tile * S::BN, head, batch);
    v.advance();
  };
  Pass e = first_pass<S>(p);
  do {
    const int b = e.batch, h = e.head_of_batch / p.group;
    for (int t = e.steps - 1; t >= 0; --t) {
      mbarrier_wait_parity(bar.empty_k(k.stage), k.phase ^ 1);
      load_box<S::BN, S::DP>(base + S::k_k_ring + k.stage * S::k_tile_bytes, map_k,
                             bar.full_k(k.stage), t * S::BN, h, b);
      k.advance();
      load_v();
      tile = t;
      head = h;
      batch = b;
    }
  } while (next_pass<S>(p, e));
  load_v();
}

// The producer of a warpgroup's Q: of all its units that see a key.
template <class S>
__device__ __forceinline__ void produce_q(const HeadParams& p, const CUtensorMap* map_q, int wg,
                                          uint32_t base, const HeadBarriers<S>& bar) {
  PipelineState<S::QB> q;
  Pass e = first_pass<S>(p);
  do {
    const int b = e.batch, h = e.head_of_batch;
    for (int triple = first_triple(e);; ++triple) {
      const int i = unit_of(e, wg, triple);
      if (i >= e.first + e.count) break;
      if (keys_of_unit(p, i) == 0) break;  // nor do those behind it
      const int at = S::QB * wg + q.stage;
      mbarrier_wait_parity(bar.empty_q(at), q.phase ^ 1);
      load_box<k_unit_rows, S::DP>(base + at * S::k_q_group_bytes, map_q, bar.full_q(at),
                                   (p.row_blocks - 1 - i) * k_unit_rows, h, b);
      q.advance();
    }
  } while (next_pass<S>(p, e));
}

}  // namespace wb::gpu
