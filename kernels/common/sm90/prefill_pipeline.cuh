// SPDX-License-Identifier: MIT
// What prefill kernels with one producer and two or three consumer warpgroups share: parameters,
// the layout of a block, the copies of a mask. Included by sm90_wgmma_carry and
// sm90_wgmma_pingpong; each adds its own barriers, producer and mainloop. Offsets are in bytes,
// from the start of shared memory.
#pragma once

#include "cuda/tile_scheduler.cuh"
#include "sdpa_abi.h"
#include "sm90/pipeline.cuh"

#include <cstdint>

namespace wb::gpu {

struct PrefillParams {
  void* out;
  float* lse;
  int* counter;  // of the tile scheduler; nullptr: one tile a block
  wb_strides so;
  int heads_q, group, seq_q, seq_kv, dim_v;
  int causal_offset;  // a row keeps key <= query + offset; seq_kv without a causal rule
  int row_blocks, tiles;
  int heads, section_heads;  // heads of all batches; how many of them the scheduler interleaves
  bool negate;               // the scale's sign, folded into Q
  float scale_log2;          // magnitude, above zero
  float scale;               // the same in natural units, for masked scores
  int mask_batch, mask_head, mask_row;  // 1 where the mask has that dimension, 0 where it repeats
};

// What a warpgroup leaves out of a tile by its own rows.
enum class Trim { none, rows, causal };

// COLS columns of the head dim are computed, of DP (a multiple of 64) that lie in shared memory.
// WGS consumer warpgroups of 64 rows and one producer; BN keys a step. QB: buffers of Q. MASKS:
// stages of the ring of mask tiles, 0 without a mask. TRIM: a warpgroup leaves out what its own
// last row cannot see: whole steps, and P V of the second half of its last one; of a tile that lies
// behind the last query, all (Trim::rows: only that is of use). SPLIT: the two
// warpgroups have the same 64 rows and every other step each, and are merged at the end.
// A kernel's own shape S derives from it and adds k_ordered: whether the ordered barrier is used.
template <typename T_, int COLS_, int WGS_, int BN_, int STAGES_, int QB_ = 2, int MASKS_ = 0,
          Trim TRIM_ = Trim::none, bool SPLIT_ = false>
struct PrefillShape {
  using T = T_;
  static constexpr int COLS = COLS_, DP = (COLS + 63) / 64 * 64, WGS = WGS_, BN = BN_;
  static constexpr int STAGES = STAGES_, QB = QB_, MASKS = MASKS_;
  static constexpr bool TRIM = TRIM_ != Trim::none, SPLIT = SPLIT_;
  static constexpr bool CAUSAL_ENDS = TRIM_ == Trim::causal;
  static_assert(!SPLIT || (WGS == 2 && MASKS == 0 && !TRIM));
  static constexpr int k_rows_apart = SPLIT ? 0 : 64;           // of neighbouring warpgroups
  static constexpr int k_consumer_warps = SPLIT ? 4 : 4 * WGS;  // warps that read a tile of K or V
  static constexpr int k_short_keys = BN / 32 * 16;  // of a step whose second half is left out
  static constexpr int k_rows = SPLIT ? 64 : 64 * WGS;
  static constexpr int k_threads = 128 * (WGS + 1);
  static constexpr int k_producer_registers = WGS == 3 ? 32 : 40;
  static constexpr int k_consumer_registers = WGS == 3 ? 160 : 232;
  static constexpr int k_q_group_bytes = 64 * DP * 2;  // of one warpgroup
  static constexpr int k_tile_bytes = BN * DP * 2;
  static constexpr int k_k_ring = QB * WGS * k_q_group_bytes;  // offsets, behind Q
  static constexpr int k_v_ring = k_k_ring + STAGES * k_tile_bytes;
  static constexpr int k_mask_group_bytes = 64 * BN * 2;  // of one warpgroup
  static constexpr int k_mask_bytes = WGS * k_mask_group_bytes;
  static constexpr int k_mask_ring = k_v_ring + STAGES * k_tile_bytes;
  static constexpr int k_merge = k_mask_ring + MASKS * k_mask_bytes;
  static constexpr int k_barriers = k_merge + (SPLIT ? (COLS / 2 + 4) * 128 * 4 : 0);
  static constexpr int k_work_indices = k_barriers + 256;  // of the tiles that Q belongs to
  static constexpr int k_smem_bytes = k_work_indices + 64;
  static_assert(k_smem_bytes <= 227 * 1024);
};

// The mask of a step, 64 rows for each warpgroup.
template <class S>
__device__ __forceinline__ void load_mask(const PrefillParams& p, const CUtensorMap* map,
                                          uint32_t smem, uint32_t barrier, const WorkTile& t,
                                          int step) {
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

}  // namespace wb::gpu
