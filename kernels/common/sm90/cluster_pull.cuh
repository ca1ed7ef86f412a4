// SPDX-License-Identifier: MIT
// The second way to merge a split-KV kernel's parts inside a cluster: every block leaves its sum in
// its own shared memory, and after one cluster barrier the owner of a slice reads the peers' parts.
// cluster_merge.cuh pushes them instead, one st.async of 16 bytes each: quicker for a few rows, 4
// us slower for 64 of them (measured, docs/kernels.md). Same description type S as there; only for
// heads that one cluster holds.
#pragma once

#include "sm90/cluster_merge.cuh"

namespace wb::gpu {

__device__ __forceinline__ float4 ld_shared_cluster_v4(uint32_t address) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

__device__ __forceinline__ float2 ld_shared_cluster_v2(uint32_t address) {
  float2 v;
  asm volatile("ld.shared::cluster.v2.f32 {%0,%1}, [%2];"
               : "=f"(v.x), "=f"(v.y)
               : "r"(address)
               : "memory");
  return v;
}

// Where the peers find quad e of a block's sum, and the (m, l) of a row: offsets in shared memory.
template <class S>
__device__ __forceinline__ uint32_t sum_offset(int e) {
  static_assert(S::WK == 1);
  return ((e / (S::DP / 4)) * S::k_partial_stride + e % (S::DP / 4) * 4) * 4;
}

template <class S>
__device__ __forceinline__ uint32_t stat_offset(int row) {
  return S::k_merge + MergeSmem<S>::k_warp_ml + row * 8;
}

// This block's slice of the output. Ranks is the number of peers rounded up: all loads of a quad
// are under way before the first is used.
template <class S, int Ranks>
__device__ __forceinline__ void pull_slice(const MergeParams& p, uint32_t base, int batch,
                                           int head_kv, int first_row, const Slice& slice) {
  for (int i = threadIdx.x; i < slice.own; i += S::k_threads) {
    const int e = slice.rank * slice.per_rank + i, row = e / (S::DP / 4);
    const uint32_t sum_at = base + sum_offset<S>(e), stat_at = base + stat_offset<S>(row);
    float2 ml[Ranks];
    float4 part[Ranks];
#pragma unroll
    for (int r = 0; r < Ranks; ++r) {
      if (r < slice.ranks) {
        ml[r] = ld_shared_cluster_v2(mapa(stat_at, r));
        part[r] = ld_shared_cluster_v4(mapa(sum_at, r));
      } else {
        ml[r] = make_float2(-INFINITY, 0.0f);
        part[r] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      }
    }
    float top = -INFINITY, l = 0.0f;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int r = 0; r < Ranks; ++r) top = fmaxf(top, ml[r].x);
#pragma unroll
    for (int r = 0; r < Ranks; ++r) {
      const float weight = merge_weight(ml[r].x, top);
      l += weight * ml[r].y;
      add_scaled(sum, weight, part[r]);
    }
    const int d = e % (S::DP / 4) * 4;
    store_output<typename S::T>(p, batch, head_kv, first_row + row, d, sum, l);
    if (p.lse != nullptr && d == 0) store_lse(p, batch, head_kv, first_row + row, top, l);
  }
}

// The whole merge of a block whose cluster holds its head alone: `partial`, at the start of shared
// memory, and the warps' (m, l) are written and visible to the block. Blocks leave together, so
// that no peer's shared memory goes away under a reader.
template <class S>
__device__ __forceinline__ void pull_and_store(const MergeParams& p, unsigned char* smem, int batch,
                                               int head_kv, int first_row, const Slice& slice) {
  barrier_cluster_arrive();
  barrier_cluster_wait();
  const uint32_t base = smem_address(smem);
  if (slice.ranks <= 4) {
    pull_slice<S, 4>(p, base, batch, head_kv, first_row, slice);
  } else if (slice.ranks <= 8) {
    pull_slice<S, 8>(p, base, batch, head_kv, first_row, slice);
  } else {
    pull_slice<S, 16>(p, base, batch, head_kv, first_row, slice);
  }
  barrier_cluster_arrive_relaxed();  // nothing to make known: the peers' sums are used
  barrier_cluster_wait();
}

}  // namespace wb::gpu
