// SPDX-License-Identifier: MIT
// What prefill kernels with one loading and two or three computing warpgroups share: the layout of
// a block, the order in which blocks take tiles, places in rings, the copies of a tile, turns at
// the tensor cores. Included by sm90_wgmma_carry and sm90_wgmma_pingpong; each adds its own
// parameters, barriers and loading thread. Offsets are in bytes, from the start of shared memory.
#pragma once

#include "mbarrier.cuh"
#include "tile_order.cuh"
#include "tma.cuh"
#include "warpgroup.cuh"

#include <cstdint>

namespace wb::gpu {

// What a warpgroup leaves out of a tile by its own rows.
enum class Trim { none, rows, causal };

// COLS columns of the head dim are computed, of DP (a multiple of 64) that lie in shared memory.
// WGS computing warpgroups of 64 rows and one that loads; BN keys a step. QB: buffers of Q. MASKS:
// stages of the ring of mask tiles, 0 without a mask. TRIM: a warpgroup leaves out what its own
// last row cannot see: whole steps, and P V of the second half of its last one; of a tile that lies
// behind the last query, all (Trim::rows: only that is of use). SPLIT: the two
// warpgroups have the same 64 rows and every other step each, and are merged at the end.
// A kernel's own shape S derives from it and adds k_turns: whether the warpgroups take turns.
template <typename T_, int COLS_, int WGS_, int BN_, int STAGES_, int QB_ = 2, int MASKS_ = 0,
          Trim TRIM_ = Trim::none, bool SPLIT_ = false>
struct PrefillShape {
  using T = T_;
  static constexpr int COLS = COLS_, DP = (COLS + 63) / 64 * 64, WGS = WGS_, BN = BN_;
  static constexpr int STAGES = STAGES_, QB = QB_, MASKS = MASKS_;
  static constexpr bool TRIM = TRIM_ != Trim::none, SPLIT = SPLIT_;
  static constexpr bool CAUSAL_ENDS = TRIM_ == Trim::causal;
  static_assert(!SPLIT || (WGS == 2 && MASKS == 0 && !TRIM));
  static constexpr int k_rows_apart = SPLIT ? 0 : 64;    // of neighbouring warpgroups
  static constexpr int k_readers = SPLIT ? 4 : 4 * WGS;  // warps that read a tile of K or V
  static constexpr int k_short_keys = BN / 32 * 16;      // of a step whose second half is left out
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

template <int Rows, int DP>
__device__ __forceinline__ void load_box(uint32_t smem, const CUtensorMap* map, uint32_t barrier,
                                         int row, int head, int batch) {
  mbarrier_arrive_expect_tx(barrier, Rows * DP * 2);
#pragma unroll
  for (int slab = 0; slab < DP / 64; ++slab) {
    cp_async_bulk_tensor_4d(smem + slab * Rows * 128, map, barrier, slab * 64, row, head, batch);
  }
}

// The mask of a step, 64 rows for each warpgroup. P: mask_row, mask_head, mask_batch.
template <class S, class P>
__device__ __forceinline__ void load_mask(const P& p, const CUtensorMap* map, uint32_t smem,
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

// Whose products are next: warpgroup wg waits on barrier 1 + wg, and hands on to the next one.
template <class S>
__device__ __forceinline__ void await_turn(int wg) {
  if (S::k_turns) barrier_sync(1 + wg, 256);
}

template <class S>
__device__ __forceinline__ void pass_turn(int wg) {
  if (S::k_turns) barrier_arrive(1 + (wg + 1 == S::WGS ? 0 : wg + 1), 256);
}

}  // namespace wb::gpu
