// SPDX-License-Identifier: MIT
// The schedule by heads of sm90_wgmma_carry, for head dims up to 64: a block has a run of whole
// units. Each of three consumer warpgroups has units of 64 rows of its own and no ordered barrier;
// K and V of a head stay in shared memory until the last unit that needs them. Units go from the
// longest on, keys from the diagonal down, so that tiles come free in the order in which they came.
// Host part and when it is chosen: kernel.cu, its only user, and heads_plan.hpp.
#pragma once

#include "heads_mainloop.cuh"
#include "sm90/griddepcontrol.cuh"

namespace wb::gpu {

// The warpgroup's next unit of the pass.
template <class S>
__device__ __forceinline__ bool next_unit_of_pass(HeadConsumer<S>& w, Unit& u) {
  const int end = w.e.first + w.e.count;
  const int i = unit_of(w.e, w.wg, w.triple + 1);
  if (i >= end) return false;
  ++w.triple;
  const int after = unit_of(w.e, w.wg, w.triple + 1);
  u.batch = w.e.batch;
  u.head = w.e.head_of_batch;
  u.first_row = (w.p.row_blocks - 1 - i) * k_unit_rows;
  u.keys = keys_of_unit(w.p, i);
  u.steps = (u.keys + S::BN - 1) / S::BN;
  u.start = w.e.base + w.e.steps - u.steps;
  u.release_before = w.e.base + w.e.steps - (after < end ? steps_of_unit<S>(w.p, after) : 0);
  return true;
}

// Tiles of the pass that the warpgroup leaves out, at its beginning.
template <class S>
__device__ __forceinline__ void skip_steps(HeadConsumer<S>& w, int steps) {
  PipelineState<S::KS> k = pipeline_state_of<S::KS>(w.e.base);
  PipelineState<S::VS> v = pipeline_state_of<S::VS>(w.e.base);
  for (int j = 0; j < steps; ++j) {
    // Waited for, else the arrival could count for the tile that the stage held before.
    mbarrier_wait_parity(w.bar.full_k(k.stage), k.phase);
    w.arrive(w.bar.empty_k(k.stage));
    k.advance();
    mbarrier_wait_parity(w.bar.full_v(v.stage), v.phase);
    w.arrive(w.bar.empty_v(v.stage));
    v.advance();
  }
}

// From the pass that w.e is on, not yet begun: the warpgroup's first unit, in this pass or later.
template <class S>
__device__ __forceinline__ bool find_unit(HeadConsumer<S>& w, Unit& u) {
  for (;;) {
    w.triple = first_triple(w.e) - 1;
    if (next_unit_of_pass<S>(w, u)) {
      skip_steps<S>(w, w.e.steps - u.steps);
      return true;
    }
    skip_steps<S>(w, w.e.steps);
    if (!next_pass<S>(w.p, w.e)) return false;
  }
}

// Unit after unit; the next one's first Q K is issued with the last P V of this one.
template <class S>
__device__ __forceinline__ void consume_units(HeadConsumer<S>& w) {
  float o[S::COLS / 8][4], s[S::BN / 8][4];
  uint32_t prob[S::BN / 16][4];
  Unit u;
  bool more = find_unit<S>(w, u);
  while (more) {
    RowState r = init_rows(w.p, u.first_row, w.thread);
    if (u.steps == 0) {
      // Others write behind what the producer threads loaded, which have waited; nothing is loaded
      // for this unit, and the kernel before may still read or write O's memory.
      if (EARLY_START) griddepcontrol_wait();
      clear(o);
      unit_epilogue<S>(w, u, r, o);
      more = next_unit_of_pass<S>(w, u) || (next_pass<S>(w.p, w.e) && find_unit<S>(w, u));
      continue;
    }
    unit_prologue<S>(w, u, s);
    for (;;) {
      clear(o);
      unit_mainloop<S>(w, u, r, s, prob, o);
      const Unit last = u;
      bool found = next_unit_of_pass<S>(w, u), carry = found && S::CARRY;
      int left_out = 0;
      more = found;
      if (!found) {
        more = next_pass<S>(w.p, w.e);
        if (more) {
          w.triple = first_triple(w.e) - 1;
          found = next_unit_of_pass<S>(w, u);
          left_out = w.e.steps - (found ? u.steps : 0);
          // This warpgroup still holds its last V: of a longer run of tiles the last may want it.
          carry = S::CARRY && found && left_out < S::VS - 1;
        }
      }
      // Issued in each branch: ahead of them, ptxas serializes the products.
      if (!carry || u.steps == 0) {
        gemm_pv_last<S>(w, prob, o);
        wgmma_wait_group<0>();
        fence_operands(o);
        release_last_v<S>(w, last);
        unit_epilogue<S>(w, last, r, o);
        if (more) {
          skip_steps<S>(w, left_out);
          if (!found) more = next_pass<S>(w.p, w.e) && find_unit<S>(w, u);
        }
        break;
      }
      gemm_pv_last<S>(w, prob, o);
      skip_steps<S>(w, left_out);
      unit_prologue<S>(w, u, s);
      wgmma_wait_group<1>();
      fence_operands(o);
      release_last_v<S>(w, last);
      unit_epilogue<S>(w, last, r, o);
      r = init_rows(w.p, u.first_row, w.thread);
    }
  }
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, 1)
    wgmma_heads(const __grid_constant__ CUtensorMap map_q,
                const __grid_constant__ CUtensorMap map_k,
                const __grid_constant__ CUtensorMap map_v, const HeadParams p) {
  // No static shared memory, so the dynamic part starts on 1024, as the swizzle needs.
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = smem_address(smem);
  const HeadBarriers<S> bar = {base + S::k_barriers};
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::KS; ++i) {
      mbarrier_init(bar.full_k(i), 1);
      mbarrier_init(bar.empty_k(i), 4 * S::WGS);
    }
    for (int i = 0; i < S::VS; ++i) {
      mbarrier_init(bar.full_v(i), 1);
      mbarrier_init(bar.empty_v(i), 4 * S::WGS);
    }
    for (int i = 0; i < S::QB * S::WGS; ++i) {
      mbarrier_init(bar.full_q(i), 1);
      mbarrier_init(bar.empty_q(i), 4);
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
    if (threadIdx.x % 32 == 0) {
      if (EARLY_START) {
        griddepcontrol_launch_dependents();
        griddepcontrol_wait();
      }
      // A thread for K and V and one for the Q of each warpgroup: none holds up another.
      const int warp = threadIdx.x / 32;
      if (warp == 0) {
        produce_kv<S>(p, &map_k, &map_v, base, bar);
      } else {
        produce_q<S>(p, &map_q, warp - 1, base, bar);
      }
    }
  } else {
    setmaxnreg_inc<S::k_consumer_registers>();
    const int thread = threadIdx.x % 128;
    HeadConsumer<S> w = {
        p,  smem, base, bar, warpgroup - 1, thread, thread / 32, thread % 32, first_pass<S>(p),
        -1, {},   {},   {}};
    consume_units<S>(w);
  }
}

}  // namespace wb::gpu
