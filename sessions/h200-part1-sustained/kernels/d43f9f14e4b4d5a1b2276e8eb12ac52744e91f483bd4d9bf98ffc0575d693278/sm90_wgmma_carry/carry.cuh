// SPDX-License-Identifier: MIT
// The computing warpgroups of sm90_wgmma_carry from tile to tile, and the kernel. Idea and host
// part: kernel.cu, its only user.
#pragma once

#include "finish.cuh"
#include "griddepcontrol.cuh"

namespace wb::gpu {

// A tile without a step of its own for this warpgroup: all of its turns and places pass on.
template <class S>
__device__ __forceinline__ void pass_over_tile(Worker<S>& w, const Job& job) {
  if constexpr (S::TRIM) {
    for (int j = 0; j < job.tile.steps; ++j) {
      pass_over_k<S>(w);
      pass_over_v<S>(w);
    }
  }
}

// What is left of a tile whose last P is in registers.
template <class S>
__device__ __forceinline__ void end_tile(Worker<S>& w, const Job& job,
                                         uint32_t (&prob)[S::BN / 16][4],
                                         float (&o)[S::COLS / 8][4]) {
  accumulate_last<S>(w, job, prob, o);
  wgmma_wait_group<0>();
  fence_operands(o);
  release_last<S>(w, job);
}

// Tile after tile, each finished before the next one begins.
template <class S>
__device__ __forceinline__ void work_one_by_one(Worker<S>& w) {
  float o[S::COLS / 8][4], s[S::BN / 8][4];
  uint32_t prob[S::BN / 16][4];
  Job job;
  while (take_job<S>(w, job)) {
    RowState r = start_rows(w.p, job.first_row, w.thread);
    clear(o);
    const Place<S::STAGES> k = w.k;
    const Place<S::STAGES> v = w.v;
    if constexpr (S::SPLIT) {  // the two warpgroups have every other step each
      w.k.advance(w.wg);
      w.v.advance(w.wg);
    }
    if (job.own_steps > 0) {
      begin_tile<S>(w, job, s);
      walk_keys<S>(w, job, r, s, prob, o);
      end_tile<S>(w, job, prob, o);
    } else {
      pass_over_tile<S>(w, job);
    }
    if constexpr (S::SPLIT) {
      w.k = k;
      w.v = v;
      w.k.advance(job.tile.steps);
      w.v.advance(job.tile.steps);
    }
    finish_tile<S>(w, job, r, o);
  }
}

// Tile after tile; the next one's first Q K^T is issued with the last P V of this one, so that the
// tensor cores have work while O is stored.
template <class S>
__device__ __forceinline__ void work_carrying_over(Worker<S>& w) {
  float o[S::COLS / 8][4], s[S::BN / 8][4];
  uint32_t prob[S::BN / 16][4];
  Job job;
  bool more = take_job<S>(w, job);
  while (more) {
    RowState r = start_rows(w.p, job.first_row, w.thread);
    if (job.own_steps == 0) {
      clear(o);
      pass_over_tile<S>(w, job);
      finish_tile<S>(w, job, r, o);
      if constexpr (S::COPY_OUT) w.release_q();
      more = take_job<S>(w, job);
      continue;
    }
    begin_tile<S>(w, job, s);
    for (;;) {
      clear(o);
      walk_keys<S>(w, job, r, s, prob, o);
      const Job last = job;
      more = take_job<S>(w, job);
      if (!more || job.own_steps == 0) {
        end_tile<S>(w, last, prob, o);
        finish_tile<S>(w, last, r, o);
        if constexpr (S::COPY_OUT) w.release_q();
        break;
      }
      accumulate_last<S>(w, last, prob, o);
      begin_tile<S>(w, job, s);
      wgmma_wait_group<1>();
      fence_operands(o);
      release_last<S>(w, last);
      finish_tile<S>(w, last, r, o);
      r = start_rows(w.p, job.first_row, w.thread);
    }
  }
}

// A computing warpgroup: its 64 rows of every tile of the block.
template <class S>
__device__ __forceinline__ void work(const Params& p, unsigned char* smem, uint32_t base,
                                     const Barriers<S>& bar, int wg, const CUtensorMap* map_o) {
  const int thread = threadIdx.x % 128;
  Worker<S> w = {p, smem, base, bar, wg, thread, thread / 32, thread % 32, {}, {}, {}, {}, map_o};
  if (wg == S::WGS - 1) pass_turn<S>(wg);  // the first turn is warpgroup 0's
  if constexpr (S::CARRY) {
    work_carrying_over<S>(w);
  } else {
    work_one_by_one<S>(w);
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
      mbarrier_init(bar.empty_k(i), S::k_readers);
      mbarrier_init(bar.full_v(i), 1);
      mbarrier_init(bar.empty_v(i), S::k_readers);
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
    setmaxnreg_dec<S::k_loader_registers>();
    if (threadIdx.x == 0) {
      if (EARLY_START) {
        griddepcontrol_launch_dependents();
        griddepcontrol_wait();
      }
      feed<S>(p, &map_q, &map_k, &map_v, &map_mask, smem, base, bar);
    }
  } else {
    setmaxnreg_inc<S::k_worker_registers>();
    work<S>(p, smem, base, bar, warpgroup - 1, &map_o);
  }
}

}  // namespace wb::gpu
