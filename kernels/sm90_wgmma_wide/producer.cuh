// SPDX-License-Identifier: MIT
// Parameters, layout and barriers of sm90_wgmma_wide, and the producer. Included by wide.cuh.
#pragma once

#include "sdpa_abi.h"
#include "sm90/mbarrier.cuh"
#include "sm90/tma.cuh"

#include <cstdint>

namespace wb::gpu {

struct Params {
  void* out;
  float* lse;
  wb_strides so;
  int heads_q, group, seq_q, seq_kv, dim_v;
  int causal_offset;  // a row keeps key <= q + offset; seq_kv without a causal rule
  int row_blocks;     // of a head
  bool negate;        // the scale's sign, folded into Q
  float scale_log2;   // magnitude, above zero
};

// A block has 64 rows; a step is 64 keys. K lies in eight slabs of 64 columns, V in four chunks of
// 16 keys: each is loaded, waited for and released on its own.
struct Wide {
  static constexpr int DP = 512, BN = 64, k_rows = 64, k_threads = 384;
  static constexpr int k_slabs = DP / 64, k_chunks = BN / 16;
  static constexpr int k_slab_bytes = 64 * 128;    // of Q, K and P
  static constexpr int k_v_slab_bytes = 16 * 128;  // 16 keys, 64 columns
  static constexpr int k_chunk_bytes = k_slabs * k_v_slab_bytes;
  static constexpr int k_k = k_slabs * k_slab_bytes;  // offsets, behind Q
  static constexpr int k_v = k_k + k_slabs * k_slab_bytes;
  static constexpr int k_p = k_v + k_chunks * k_chunk_bytes;  // two tiles of P
  static constexpr int k_alpha = k_p + 2 * k_slab_bytes;      // float[2][64], then float[64]
  static constexpr int k_barriers = k_alpha + 3 * 64 * 4;
  static constexpr int k_smem_bytes = k_barriers + 256;
  static_assert(k_smem_bytes <= 227 * 1024);
};

struct Barriers {
  uint32_t base;
  __device__ uint32_t full_q() const { return base; }
  __device__ uint32_t full_k(int slab) const { return base + 8 * (1 + slab); }
  __device__ uint32_t empty_k(int slab) const { return base + 8 * (1 + Wide::k_slabs + slab); }
  __device__ uint32_t full_v(int chunk) const { return base + 8 * (1 + 2 * Wide::k_slabs + chunk); }
  __device__ uint32_t empty_v(int chunk) const {
    return base + 8 * (1 + 2 * Wide::k_slabs + Wide::k_chunks + chunk);
  }
};

// Named barriers between the two consumer warpgroups, all of 256 threads; + the tile of P.
inline constexpr uint32_t k_p_full = 1, k_p_empty = 3, k_rows_done = 5, k_negated = 6;

struct WorkTile {
  int batch, head, first_row, steps;
};

// Blocks of a head consume_second each other, those with more keys first.
__device__ __forceinline__ WorkTile work_tile_at(const Params& p, int block) {
  const int head = block / p.row_blocks;
  WorkTile t;
  t.batch = head / p.heads_q;
  t.head = head % p.heads_q;
  t.first_row = (p.row_blocks - 1 - block % p.row_blocks) * Wide::k_rows;
  const int last_query = min(t.first_row + Wide::k_rows, p.seq_q) - 1;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  t.steps = (keys + Wide::BN - 1) / Wide::BN;
  return t;
}

// The producer, one thread: Q, then K one step ahead of V, the order in which they are read.
__device__ __forceinline__ void produce(const Params& p, const CUtensorMap* map_q,
                                        const CUtensorMap* map_k, const CUtensorMap* map_v,
                                        const WorkTile& t, uint32_t base, const Barriers& bar) {
  const int head_kv = t.head / p.group;
  mbarrier_arrive_expect_tx(bar.full_q(), Wide::k_slabs * Wide::k_slab_bytes);
  for (int slab = 0; slab < Wide::k_slabs; ++slab) {
    cp_async_bulk_tensor_4d(base + slab * Wide::k_slab_bytes, map_q, bar.full_q(), 64 * slab,
                            t.first_row, t.head, t.batch);
  }
  const auto load_k = [&](int step) {
    for (int slab = 0; slab < Wide::k_slabs; ++slab) {
      mbarrier_wait_parity(bar.empty_k(slab), (step & 1) ^ 1);
      mbarrier_arrive_expect_tx(bar.full_k(slab), Wide::k_slab_bytes);
      cp_async_bulk_tensor_4d(base + Wide::k_k + slab * Wide::k_slab_bytes, map_k, bar.full_k(slab),
                              64 * slab, step * Wide::BN, head_kv, t.batch);
    }
  };
  if (t.steps > 0) load_k(0);
  for (int step = 0; step < t.steps; ++step) {
    if (step + 1 < t.steps) load_k(step + 1);
    for (int chunk = 0; chunk < Wide::k_chunks; ++chunk) {
      mbarrier_wait_parity(bar.empty_v(chunk), (step & 1) ^ 1);
      mbarrier_arrive_expect_tx(bar.full_v(chunk), Wide::k_chunk_bytes);
      for (int slab = 0; slab < Wide::k_slabs; ++slab) {
        cp_async_bulk_tensor_4d(
            base + Wide::k_v + chunk * Wide::k_chunk_bytes + slab * Wide::k_v_slab_bytes, map_v,
            bar.full_v(chunk), 64 * slab, step * Wide::BN + 16 * chunk, head_kv, t.batch);
      }
    }
  }
}

}  // namespace wb::gpu
