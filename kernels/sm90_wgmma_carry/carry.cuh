// SPDX-License-Identifier: MIT
// The consumer warpgroups of sm90_wgmma_carry from work tile to work tile, and the kernel. Idea and
// host part: kernel.cu, its only user.
#pragma once

#include "epilogue.cuh"
#include "sm90/griddepcontrol.cuh"

namespace wb::gpu {

// A tile without a step of its own for this warpgroup.
template <class S>
__device__ __forceinline__ void skip_tile(Consumer<S>& w, const ConsumerWork& work) {
  if constexpr (S::TRIM) {
    for (int j = 0; j < work.tile.steps; ++j) {
      skip_k<S>(w);
      skip_v<S>(w);
    }
  }
}

// What is left of a tile whose last P is in registers.
template <class S>
__device__ __forceinline__ void mainloop_tail(Consumer<S>& w, const ConsumerWork& work,
                                              uint32_t (&prob)[S::BN / 16][4],
                                              float (&o)[S::COLS / 8][4]) {
  gemm_pv_last<S>(w, work, prob, o);
  wgmma_wait_group<0>();
  fence_operands(o);
  release_last_v<S>(w, work);
}

// Tile after tile, each one's epilogue before the next one's prologue.
template <class S>
__device__ __forceinline__ void consume_tile_by_tile(Consumer<S>& w) {
  float o[S::COLS / 8][4], s[S::BN / 8][4];
  uint32_t prob[S::BN / 16][4];
  ConsumerWork work;
  while (get_next_work<S>(w, work)) {
    RowState r = init_rows(w.p, work.first_row, w.thread);
    clear(o);
    const PipelineState<S::STAGES> k = w.k;
    const PipelineState<S::STAGES> v = w.v;
    if constexpr (S::SPLIT) {  // the two warpgroups have every other step each
      w.k.advance(w.wg);
      w.v.advance(w.wg);
    }
    if (work.own_steps > 0) {
      mainloop_prologue<S>(w, work, s);
      mainloop<S>(w, work, r, s, prob, o);
      mainloop_tail<S>(w, work, prob, o);
    } else {
      skip_tile<S>(w, work);
    }
    if constexpr (S::SPLIT) {
      w.k = k;
      w.v = v;
      w.k.advance(work.tile.steps);
      w.v.advance(work.tile.steps);
    }
    epilogue<S>(w, work, r, o);
  }
}

// Tile after tile, prologue over epilogue: the next one's first Q K^T is issued with the last P V
// of this one, so that the tensor cores have work while O is stored.
template <class S>
__device__ __forceinline__ void consume_overlapped(Consumer<S>& w) {
  float o[S::COLS / 8][4], s[S::BN / 8][4];
  uint32_t prob[S::BN / 16][4];
  ConsumerWork work;
  bool more = get_next_work<S>(w, work);
  while (more) {
    RowState r = init_rows(w.p, work.first_row, w.thread);
    if (work.own_steps == 0) {
      clear(o);
      skip_tile<S>(w, work);
      epilogue<S>(w, work, r, o);
      if constexpr (S::COPY_OUT) w.release_q();
      more = get_next_work<S>(w, work);
      continue;
    }
    mainloop_prologue<S>(w, work, s);
    for (;;) {
      clear(o);
      mainloop<S>(w, work, r, s, prob, o);
      const ConsumerWork last = work;
      more = get_next_work<S>(w, work);
      if (!more || work.own_steps == 0) {
        mainloop_tail<S>(w, last, prob, o);
        epilogue<S>(w, last, r, o);
        if constexpr (S::COPY_OUT) w.release_q();
        break;
      }
      gemm_pv_last<S>(w, last, prob, o);
      mainloop_prologue<S>(w, work, s);
      wgmma_wait_group<1>();
      fence_operands(o);
      release_last_v<S>(w, last);
      epilogue<S>(w, last, r, o);
      r = init_rows(w.p, work.first_row, w.thread);
    }
  }
}

// A consumer warpgroup: its 64 rows of every work tile of the block.
template <class S>
__device__ __forceinline__ void consume(const Params& p, unsigned char* smem, uint32_t base,
                                        const Barriers<S>& bar, int wg, const CUtensorMap* map_o) {
  const int thread = threadIdx.x % 128;
  Consumer<S> w = {p, smem, base, bar, wg, thread, thread / 32, thread % 32, {}, {}, {}, {}, map_o};
  if (wg == S::WGS - 1) ordered_barrier_arrive<S>(wg);  // warpgroup 0 is let in first
  if constexpr (S::CARRY) {
    consume_overlapped<S>(w);
  } else {
    consume_tile_by_tile<S>(w);
  }
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, 1)
    wgmma_carry(const __grid_constant__ CUtensorMap map_q,
                const __grid_constant__ CUtensorMap map_k,
                const __grid_constant__ CUtensorMap map_v,
                const __grid_constant__ CUtensorMap map_mask,
                const __grid_constant__ CUtensorMap map_o, const Params p) {
  // No static shared memory, so the dynamic part starts on 1024, as the swizzle needs.
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem);
  const Barriers<S> bar = {base + S::k_barriers};
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::STAGES; ++i) {
      mbarrier_init(bar.full_k(i), 1);
      mbarrier_init(bar.empty_k(i), S::k_consumer_warps);
      mbarrier_init(bar.full_v(i), 1);
      mbarrier_init(bar.empty_v(i), S::k_consumer_warps);
    }
    for (int i = 0; i < S::QB * S::WGS; ++i) {
      mbarrier_init(bar.full_q(i), 1);
      mbarrier_init(bar.empty_q(i), S::COPY_OUT ? 4 : 128);
    }
    for (int i = 0; i < S::MASKS; ++i) {
      mbarrier_init(bar.full_mask(i), 1);
      mbarrier_init(bar.empty_mask(i), 4 * S::WGS);
    }
    fence_mbarrier_init();
    prefetch_tensormap(&map_q);
    prefetch_tensormap(&map_k);
    prefetch_tensormap(&map_v);
  }
  __syncthreads();
  const int warpgroup = __shfl_sync(~0u, int(threadIdx.x / 128), 0);
  if (warpgroup == 0) {
    setmaxnreg_dec<S::k_producer_registers>();
    if (threadIdx.x == 0) {
      if (EARLY_START) {
        griddepcontrol_launch_dependents();
        griddepcontrol_wait();
      }
      produce<S>(p, &map_q, &map_k, &map_v, &map_mask, smem, base, bar);
    }
  } else {
    setmaxnreg_inc<S::k_consumer_registers>();
    consume<S>(p, smem, base, bar, warpgroup - 1, &map_o);
  }
}

}  // namespace wb::gpu
