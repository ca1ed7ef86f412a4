// SPDX-License-Identifier: MIT
// The end of a tile of sm90_wgmma_carry: O out by the copy engine or by the threads, and its buffer
// of Q given back.
#pragma once

#include "prefill_finish.cuh"
#include "walk.cuh"

namespace wb::gpu {

// O through the warp's own rows of the warpgroup's Q tile, then out by the copy engine or in
// 16-byte pieces.
template <class S>
__device__ __forceinline__ void store_rows(const float (&o)[S::COLS / 8][4], const RowState& r,
                                           const Params& p, unsigned char* q_tile, const Tile& t,
                                           int first_row, int warp, int lane,
                                           const CUtensorMap* map_o) {
  stage_rows<S>(o, r, p, q_tile, t, first_row, warp, lane);
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
  copy_rows_out<typename S::T, S::COLS / 8>(p, q_tile, t.batch, t.head, first_row, 0, warp, lane);
}

// O of a tile out, and its buffer of Q given back.
template <class S>
__device__ __forceinline__ void finish_tile(Worker<S>& w, const Job& job, RowState& r,
                                            float (&o)[S::COLS / 8][4]) {
  sum_rows(r);
  merge_split<S>(o, r, w.p, w.smem, w.wg, w.thread);
  barrier_sync(1 + S::WGS + w.wg, 128);  // every warp has read Q: O overlays it
  if (!S::SPLIT || w.wg == 0) {
    store_rows<S>(o, r, w.p, w.smem + job.at * S::k_q_group_bytes, job.tile, job.first_row, w.warp,
                  w.lane, w.map_o);
  }
  if constexpr (S::COPY_OUT) {
    if constexpr (S::CARRY) {
      w.storing = job.at;
    } else {
      w.release_stored(job.at);
    }
  } else {
    fence_proxy_async_shared();
    mbarrier_arrive(w.bar.empty_q(job.at));
  }
}

}  // namespace wb::gpu
