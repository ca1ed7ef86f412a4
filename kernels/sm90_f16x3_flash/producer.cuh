// SPDX-License-Identifier: MIT
// Parameters, shape and barriers of the second launch of sm90_f16x3_flash, and the producer. Used
// by f16x3.cuh.
#pragma once

#include "cuda/tile_scheduler.cuh"
#include "sdpa_abi.h"
#include "sm90/griddepcontrol.cuh"
#include "sm90/pipeline.cuh"

#include <cstdint>

#ifndef EARLY_START  // 1: start while the first launch drains
#define EARLY_START 1
#endif
#ifndef PING_PONG  // 1: the ordered barrier lets one consumer warpgroup issue its products at a
                   // time; 0: nothing orders them
#define PING_PONG 1
#endif

namespace wb::gpu {

struct Params {
  float* out;
  float* lse;
  int* counter;  // of the tile scheduler; nullptr: one tile a block
  const float *factors_q, *factors_k, *factors_v;  // of the tiles that split.cuh made
  wb_strides so;
  int heads_q, group, seq_q, seq_kv, dim_v;
  int causal_offset;  // a row keeps key <= query + offset; seq_kv without a causal rule
  int row_blocks, tiles, key_tiles;
  int heads, section_heads;  // heads of all batches; how many of them the scheduler interleaves
  bool vector_stores;        // pairs of output elements start on 8 bytes
  float scale_log2;          // magnitude, above zero; its sign went into Q
};

// WGS consumer warpgroups of 64 rows and one producer; BN keys a step.
template <int DP_, int BN_>
struct Shape {
  static constexpr int DP = DP_, BN = BN_, WGS = 2, STAGES = 2;
  static constexpr bool k_ordered = PING_PONG != 0;
  static constexpr int k_rows = 64 * WGS;
  static constexpr int k_threads = 128 * (WGS + 1);
  static constexpr int k_line = 2 * DP * 2;      // bytes of a row: high parts, then rests
  static constexpr int k_q_bytes = 64 * k_line;  // of one warpgroup
  static constexpr int k_tile_bytes = BN * k_line;
  static constexpr int k_k_ring = WGS * k_q_bytes;
  static constexpr int k_v_ring = k_k_ring + STAGES * k_tile_bytes;
  static constexpr int k_barriers = k_v_ring + STAGES * k_tile_bytes;
  static constexpr int k_work_indices = k_barriers + 128;  // of the tiles that Q belongs to
  static constexpr int k_smem_bytes = k_work_indices + 64;
  static_assert(k_smem_bytes <= 227 * 1024);
};

template <class S>
struct Barriers {
  uint32_t base;
  __device__ uint32_t full_k(int stage) const { return base + 8 * stage; }
  __device__ uint32_t full_v(int stage) const { return base + 8 * (S::STAGES + stage); }
  __device__ uint32_t empty_k(int stage) const { return base + 8 * (2 * S::STAGES + stage); }
  __device__ uint32_t empty_v(int stage) const { return base + 8 * (3 * S::STAGES + stage); }
  __device__ uint32_t full_q(int wg) const { return base + 8 * (4 * S::STAGES + wg); }
  __device__ uint32_t empty_q(int wg) const { return base + 8 * (4 * S::STAGES + S::WGS + wg); }
};

// The producer, one thread: for each work tile its index and Q for every warpgroup, then K one step
// ahead of V, the order in which they are read.
template <class S>
__device__ __forceinline__ void produce(const Params& p, const CUtensorMap* map_q,
                                        const CUtensorMap* map_k, const CUtensorMap* map_v,
                                        unsigned char* smem, uint32_t base,
                                        const Barriers<S>& bar) {
  int* work_indices = reinterpret_cast<int*>(smem + S::k_work_indices);
  PipelineState<S::STAGES> k, v;
  uint32_t phase_q = 0;
  for (int index = blockIdx.x; index < p.tiles; index = next_work(p)) {
    const WorkTile t = work_tile_at<S>(p, index);
    for (int wg = 0; wg < S::WGS; ++wg) {
      mbarrier_wait_parity(bar.empty_q(wg), phase_q ^ 1);
      work_indices[wg] = index;
      load_box<64, 2 * S::DP>(base + wg * S::k_q_bytes, map_q, bar.full_q(wg),
                              t.first_row + 64 * wg, t.head, t.batch);
    }
    phase_q ^= 1;
    const auto load_k = [&](int step) {
      mbarrier_wait_parity(bar.empty_k(k.stage), k.phase ^ 1);
      load_box<S::BN, 2 * S::DP>(base + S::k_k_ring + k.stage * S::k_tile_bytes, map_k,
                                 bar.full_k(k.stage), step * S::BN, t.head_kv, t.batch);
      k.advance();
    };
    if (t.steps > 0) load_k(0);
    for (int step = 0; step < t.steps; ++step) {
      if (step + 1 < t.steps) load_k(step + 1);
      mbarrier_wait_parity(bar.empty_v(v.stage), v.phase ^ 1);
      load_box<S::BN, 2 * S::DP>(base + S::k_v_ring + v.stage * S::k_tile_bytes, map_v,
                                 bar.full_v(v.stage), step * S::BN, t.head_kv, t.batch);
      v.advance();
    }
  }
  for (int wg = 0; wg < S::WGS; ++wg) {
    mbarrier_wait_parity(bar.empty_q(wg), phase_q ^ 1);
    work_indices[wg] = -1;
    mbarrier_arrive(bar.full_q(wg));
  }
}

}  // namespace wb::gpu
