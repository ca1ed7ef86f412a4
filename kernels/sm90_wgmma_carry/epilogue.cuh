// SPDX-License-Identifier: MIT
// The epilogue of sm90_wgmma_carry: O out by TMA or by the threads, and its buffer of Q released.
#pragma once

#include "mainloop.cuh"
#include "sm90/prefill_epilogue.cuh"

namespace wb::gpu {

// O through the warp's own rows of the warpgroup's Q tile, then out by TMA or in 16-byte pieces.
template <class S>
__device__ __forceinline__ void store_rows(const float (&o)[S::COLS / 8][4], const RowState& r,
                                           const Params& p, unsigned char* q_tile,
                                           const WorkTile& t, int first_row, int warp, int lane,
                                           const CUtensorMap* map_o) {
  rows_to_smem<S>(o, r, p, q_tile, t, first_row, warp, lane);
  if constexpr (S::COPY_OUT) {
    fence_proxy_async_shared();
    __syncwarp();
    if (lane == 0) {
#pragma unroll
      for (int slab = 0; slab < S::DP / 64; ++slab) {
        cp_async_bulk_tensor_4d_out(map_o,
                                    smem_address(q_tile) + slab * (64 * 128) + warp * (16 * 128),
                                    slab * 64, first_row + warp * 16, t.head, t.batch);
      }
      cp_async_bulk_commit_group();
    }
    return;
  }
  __syncwarp();
  rows_to_global<typename S::T, S::COLS / 8>(p, q_tile, t.batch, t.head, first_row, 0, warp, lane);
}

// O of a tile out, and its buffer of Q released.
template <class S>
__device__ __forceinline__ void epilogue(Consumer<S>& w, const ConsumerWork& work, RowState& r,
                                         float (&o)[S::COLS / 8][4]) {
  reduce_row_sums(r);
  merge_split<S>(o, r, w.p, w.smem, w.wg, w.thread);
  barrier_sync(1 + S::WGS + w.wg, 128);  // every warp has read Q: O overlays it
  if (!S::SPLIT || w.wg == 0) {
    store_rows<S>(o, r, w.p, w.smem + work.q_buffer * S::k_q_group_bytes, work.tile, work.first_row,
                  w.warp, w.lane, w.map_o);
  }
  if constexpr (S::COPY_OUT) {
    if constexpr (S::CARRY) {
      w.storing = work.q_buffer;
    } else {
      w.release_stored(work.q_buffer);
    }
  } else {
    fence_proxy_async_shared();
    mbarrier_arrive(w.bar.empty_q(work.q_buffer));
  }
}

}  // namespace wb::gpu
