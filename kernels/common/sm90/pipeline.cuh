// SPDX-License-Identifier: MIT
// What warp-specialized kernels share: the state of a pipeline of shared-memory stages, the TMA
// copy of a tile into one, and the ordered barrier by which consumer warpgroups take turns at the
// tensor cores. Included by prefill_pipeline.cuh and sm90_f16x3_flash.
#pragma once

#include "sm90/mbarrier.cuh"
#include "sm90/tma.cuh"
#include "sm90/warpgroup.cuh"

#include <cstdint>

namespace wb::gpu {

// Where a producer or a consumer stands in a ring of Stages stages. The phase is the parity that
// the stage's barrier is waited for; it changes with every round through the ring.
template <int Stages>
struct PipelineState {
  int stage = 0;
  uint32_t phase = 0;
  __device__ __forceinline__ void advance(int steps = 1) {
    stage += steps;
    if (steps > 1) {
      phase ^= stage / Stages & 1;
      stage %= Stages;
    } else if (stage == Stages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

// Rows by DP columns of 16-bit elements; the barrier counts their bytes.
template <int Rows, int DP>
__device__ __forceinline__ void load_box(uint32_t smem, const CUtensorMap* map, uint32_t barrier,
                                         int row, int head, int batch) {
  mbarrier_arrive_expect_tx(barrier, Rows * DP * 2);
#pragma unroll
  for (int slab = 0; slab < DP / 64; ++slab) {
    cp_async_bulk_tensor_4d(smem + slab * Rows * 128, map, barrier, slab * 64, row, head, batch);
  }
}

// Consumer warpgroup wg issues its products between wait and arrive, which lets the next one in:
// each waits on named barrier 1 + wg. S: WGS, k_ordered (false: nothing orders them).
template <class S>
__device__ __forceinline__ void ordered_barrier_wait(int wg) {
  if (S::k_ordered) barrier_sync(1 + wg, 256);
}

template <class S>
__device__ __forceinline__ void ordered_barrier_arrive(int wg) {
  if (S::k_ordered) barrier_arrive(1 + (wg + 1 == S::WGS ? 0 : wg + 1), 256);
}

}  // namespace wb::gpu
