// SPDX-License-Identifier: MIT
// What specialised warpgroups need beside mbarriers (sm_90a): named barriers, on which some threads
// wait and others only arrive, and setmaxnreg, by which a producer warpgroup gives its registers to
// the computing ones. setmaxnreg is executed by all warps of a warpgroup.
#pragma once

#include <cstdint>

namespace wb::gpu {

// `threads` counts the waiting and the arriving ones. Barrier 0 is __syncthreads.
__device__ __forceinline__ void barrier_sync(uint32_t id, uint32_t threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t id, uint32_t threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

template <int Registers>
__device__ __forceinline__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

template <int Registers>
__device__ __forceinline__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

// Orders this thread's ordinary accesses to shared memory before later ones of TMA and
// of wgmma.
__device__ __forceinline__ void fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace wb::gpu
