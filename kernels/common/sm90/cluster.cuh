// SPDX-License-Identifier: MIT
// Thread block clusters (sm_90): ranks, the cluster barrier, and stores into another block's
// shared memory that complete on that block's mbarrier.
#pragma once

#include <cstdint>

namespace wb::gpu {

__device__ __forceinline__ uint32_t cluster_ctarank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ uint32_t cluster_nctarank() {
  uint32_t size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

__device__ __forceinline__ void barrier_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// The same without making this block's earlier writes known: a release waits for all of a thread's
// loads and stores that are under way, global ones too. Enough where the only thing that peers rely
// on are barriers initialised behind fence_mbarrier_init.
__device__ __forceinline__ void barrier_cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void barrier_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The address, in the cluster's shared window, of `smem` as block `rank` sees it.
__device__ __forceinline__ uint32_t mapa(uint32_t smem, uint32_t rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(smem), "r"(rank));
  return address;
}

// Stores into a block's shared memory and adds the bytes stored to that block's barrier.
__device__ __forceinline__ void st_async_v4(uint32_t remote, float4 v, uint32_t remote_barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1,%2,%3,%4}, "
      "[%5];" ::"r"(remote),
      "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(remote_barrier)
      : "memory");
}

__device__ __forceinline__ void st_async_v2(uint32_t remote, float2 v, uint32_t remote_barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1,%2}, [%3];" ::
          "r"(remote),
      "f"(v.x), "f"(v.y), "r"(remote_barrier)
      : "memory");
}

}  // namespace wb::gpu
