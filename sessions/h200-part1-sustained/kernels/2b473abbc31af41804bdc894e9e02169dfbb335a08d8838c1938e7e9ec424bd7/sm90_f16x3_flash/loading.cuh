// SPDX-License-Identifier: MIT
// What the second launch of sm90_f16x3_flash walks and loads: parameters, shapes, barriers, tiles,
// and the loading warpgroup's stage. Used by f16x3.cuh.
#pragma once

#include "griddepcontrol.cuh"
#include "mbarrier.cuh"
#include "sdpa_abi.h"
#include "tile_order.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

#include <cstdint>

#ifndef EARLY_START  // 1: start while the first launch drains
#define EARLY_START 1
#endif
#ifndef PING_PONG  // 1: the computing warpgroups take turns; 0: nothing orders them
#define PING_PONG 1
#endif

namespace wb::gpu {

struct Params {
  float* out;
  float* lse;
  int* counter;  // tiles handed out beyond the first of each block; nullptr: one tile a block
  const float *factors_q, *factors_k, *factors_v;  // of the tiles that split.cuh made
  wb_strides so;
  int heads_q, group, seq_q, seq_kv, dim_v;
  int causal_offset;  // a row keeps key <= query + offset; seq_kv without a causal rule
  int row_blocks, tiles, key_tiles;
  int heads, section_heads;  // heads of all batches; how many of them are walked side by side
  bool vector_stores;        // pairs of output elements start on 8 bytes
  float scale_log2;          // magnitude, above zero; its sign went into Q
};

// WGS computing warpgroups of 64 rows and one that loads; BN keys a step.
template <int DP_, int BN_>
struct Shape {
  static constexpr int DP = DP_, BN = BN_, WGS = 2, STAGES = 2;
  static constexpr int k_rows = 64 * WGS;
  static constexpr int k_threads = 128 * (WGS + 1);
  static constexpr int k_line = 2 * DP * 2;      // bytes of a row: high parts, then rests
  static constexpr int k_q_bytes = 64 * k_line;  // of one warpgroup
  static constexpr int k_tile_bytes = BN * k_line;
  static constexpr int k_k_ring = WGS * k_q_bytes;
  static constexpr int k_v_ring = k_k_ring + STAGES * k_tile_bytes;
  static constexpr int k_barriers = k_v_ring + STAGES * k_tile_bytes;
  static constexpr int k_indices = k_barriers + 128;  // of the tiles that Q belongs to
  static constexpr int k_smem_bytes = k_indices + 64;
  static_assert(k_smem_bytes <= 227 * 1024);
};

template <class S>
struct Barriers {
  uint32_t base;
  __device__ uint32_t full_k(int slot) const { return base + 8 * slot; }
  __device__ uint32_t full_v(int slot) const { return base + 8 * (S::STAGES + slot); }
  __device__ uint32_t empty_k(int slot) const { return base + 8 * (2 * S::STAGES + slot); }
  __device__ uint32_t empty_v(int slot) const { return base + 8 * (3 * S::STAGES + slot); }
  __device__ uint32_t full_q(int wg) const { return base + 8 * (4 * S::STAGES + wg); }
  __device__ uint32_t empty_q(int wg) const { return base + 8 * (4 * S::STAGES + S::WGS + wg); }
};

// A place in a ring of Stages slots; the parity changes with every turn.
template <int Stages>
struct Place {
  int slot = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++slot == Stages) {
      slot = 0;
      parity ^= 1;
    }
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

template <int Rows, int DP>
__device__ __forceinline__ void load_box(uint32_t smem, const CUtensorMap* map, uint32_t barrier,
                                         int row, int head, int batch) {
  mbarrier_arrive_expect_tx(barrier, Rows * DP * 4);
#pragma unroll
  for (int slab = 0; slab < DP / 32; ++slab) {
    cp_async_bulk_tensor_4d(smem + slab * Rows * 128, map, barrier, slab * 64, row, head, batch);
  }
}

// The loading thread: for each tile its index and Q for every warpgroup, then K one step ahead of
// V, the order in which they are read.
template <class S>
__device__ __forceinline__ void feed(const Params& p, const CUtensorMap* map_q,
                                     const CUtensorMap* map_k, const CUtensorMap* map_v,
                                     unsigned char* smem, uint32_t base, const Barriers<S>& bar) {
  int* indices = reinterpret_cast<int*>(smem + S::k_indices);
  Place<S::STAGES> k, v;
  uint32_t parity_q = 0;
  for (int index = blockIdx.x; index < p.tiles; index = next_tile(p)) {
    const Tile t = tile_at<S>(p, index);
    for (int wg = 0; wg < S::WGS; ++wg) {
      mbarrier_wait_parity(bar.empty_q(wg), parity_q ^ 1);
      indices[wg] = index;
      load_box<64, S::DP>(base + wg * S::k_q_bytes, map_q, bar.full_q(wg), t.first_row + 64 * wg,
                          t.head, t.batch);
    }
    parity_q ^= 1;
    const auto load_k = [&](int step) {
      mbarrier_wait_parity(bar.empty_k(k.slot), k.parity ^ 1);
      load_box<S::BN, S::DP>(base + S::k_k_ring + k.slot * S::k_tile_bytes, map_k,
                             bar.full_k(k.slot), step * S::BN, t.head_kv, t.batch);
      k.advance();
    };
    if (t.steps > 0) load_k(0);
    for (int step = 0; step < t.steps; ++step) {
      if (step + 1 < t.steps) load_k(step + 1);
      mbarrier_wait_parity(bar.empty_v(v.slot), v.parity ^ 1);
      load_box<S::BN, S::DP>(base + S::k_v_ring + v.slot * S::k_tile_bytes, map_v,
                             bar.full_v(v.slot), step * S::BN, t.head_kv, t.batch);
      v.advance();
    }
  }
  for (int wg = 0; wg < S::WGS; ++wg) {
    mbarrier_wait_parity(bar.empty_q(wg), parity_q ^ 1);
    indices[wg] = -1;
    mbarrier_arrive(bar.full_q(wg));
  }
}

}  // namespace wb::gpu
