// SPDX-License-Identifier: MIT
// The merge of a split-KV kernel whose warpgroups share 64 rows: the warpgroups' sums become one in
// the registers of the first, then every block of the cluster reads its share of the columns from
// all of them, as in cluster_pull.cuh. Sums lie as they do in the accumulators, quad n of thread i
// at n * 128 + i (rows g and g + 8, columns 8 n + 2 t and the next), so neither step needs index
// arithmetic, and a thread has two quads to merge. Used by sm90_wgmma_flash.
//
// S: T (element), DP, KS (warpgroups), k_ring and k_ring_bytes (where each may leave its sum: bytes
// from the start of shared memory, bytes apart). P: merge, rows, group, scale_log2.
#pragma once

#include "sm90/cluster_pull.cuh"
#include "sm90/online_softmax.cuh"
#include "sm90/warpgroup.cuh"

namespace wb::gpu {

// Where this thread leaves, or finds, quads of warpgroup k's sum; behind them its rows' statistics.
template <class S>
__device__ __forceinline__ uint32_t quads_at(uint32_t base, int k) {
  static_assert(S::k_ring_bytes >= (S::DP / 8 + 1) * 128 * 16);
  return base + S::k_ring + k * S::k_ring_bytes + threadIdx.x % 128 * 16;
}

inline constexpr uint32_t k_quad_step = 128 * 16;  // bytes from a thread's quad to its next one

__device__ __forceinline__ void st_shared_v4(uint32_t at, float4 v) {
  asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(at), "f"(v.x), "f"(v.y), "f"(v.z),
               "f"(v.w)
               : "memory");
}

// Maxima in log2 units and sums of two rows: m, l, m, l. Weighs N parts; returns those of the sum.
template <int N>
__device__ __forceinline__ float4 weights_of_parts(float2 (&weight)[N], const float4 (&stats)[N]) {
  float4 all = make_float4(-INFINITY, 0.0f, -INFINITY, 0.0f);
#pragma unroll
  for (int k = 0; k < N; ++k) {
    all.x = fmaxf(all.x, stats[k].x);
    all.z = fmaxf(all.z, stats[k].z);
  }
#pragma unroll
  for (int k = 0; k < N; ++k) {
    weight[k] = make_float2(merge_weight(stats[k].x, all.x), merge_weight(stats[k].z, all.z));
    all.y += weight[k].x * stats[k].y;
    all.w += weight[k].y * stats[k].w;
  }
  return all;
}

__device__ __forceinline__ void add_quad(float4& sum, float2 weight, float4 v) {
  sum.x += weight.x * v.x;
  sum.y += weight.x * v.y;
  sum.z += weight.y * v.z;
  sum.w += weight.y * v.w;
}

// Leaves the block's sum and its statistics where warpgroup 0's go. Every thread calls it with its
// warpgroup's o.
template <class S>
__device__ __forceinline__ void add_warpgroups(const float (&o)[S::DP / 8][4], const RowState& r,
                                               float scale_log2, uint32_t base) {
  constexpr int quads = S::DP / 8;
  const int part = threadIdx.x / 128;
  float4 stats[S::KS];
  stats[0] = make_float4(r.m[0] * scale_log2, r.l[0], r.m[1] * scale_log2, r.l[1]);
  const uint32_t own = quads_at<S>(base, part);
  __syncthreads();  // every warp is done with the rings
  if (part > 0) {
#pragma unroll
    for (int n = 0; n < quads; ++n) {
      st_shared_v4(own + n * k_quad_step, make_float4(o[n][0], o[n][1], o[n][2], o[n][3]));
    }
    st_shared_v4(own + quads * k_quad_step, stats[0]);
  }
  __syncthreads();
  if (part > 0) return;
#pragma unroll
  for (int k = 1; k < S::KS; ++k) {
    stats[k] = ld_shared_v4(quads_at<S>(base, k) + quads * k_quad_step);
  }
  float2 weight[S::KS];
  st_shared_v4(own + quads * k_quad_step, weights_of_parts(weight, stats));
#pragma unroll
  for (int n = 0; n < quads; ++n) {
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    add_quad(sum, weight[0], make_float4(o[n][0], o[n][1], o[n][2], o[n][3]));
#pragma unroll
    for (int k = 1; k < S::KS; ++k) {
      add_quad(sum, weight[k], ld_shared_v4(quads_at<S>(base, k) + n * k_quad_step));
    }
    st_shared_v4(own + n * k_quad_step, sum);
  }
}

// Four columns of row `half` out of the quads of two neighbouring groups: lanes swap in pairs, so
// that an even one has columns of the first group and an odd one of the second.
template <typename T>
__device__ __forceinline__ uint2 side_by_side(const float4& first, const float4& second, int half,
                                              float inverse) {
  const auto packed = [&](const float4& x) {
    return half == 0 ? pack2<T>(x.x * inverse, x.y * inverse)
                     : pack2<T>(x.z * inverse, x.w * inverse);
  };
  const uint32_t a = packed(first), b = packed(second);
  const bool odd = threadIdx.x % 2 != 0;
  const uint32_t other = __shfl_xor_sync(~0u, odd ? a : b, 1);
  return odd ? make_uint2(other, b) : make_uint2(a, other);
}

// This block's share of the output: of the pairs of groups of columns, every so manieth for each
// warpgroup of the cluster. Ranks is the number of blocks rounded up: all loads of a pair are under
// way before the first is used.
template <class S, int Ranks, class P>
__device__ __forceinline__ void pull_columns(const P& p, uint32_t base, int batch, int head_kv,
                                             int first_row, const Slice& slice) {
  using T = typename S::T;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int pair = warp / 4 * slice.ranks + slice.rank; pair < S::DP / 16;
       pair += S::KS * slice.ranks) {
    float4 stats[Ranks], part[2][Ranks];
    float2 weight[Ranks];
#pragma unroll
    for (int k = 0; k < Ranks; ++k) {
      stats[k] = make_float4(-INFINITY, 0.0f, -INFINITY, 0.0f);
      part[0][k] = part[1][k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (k < slice.ranks) {
        const uint32_t at = mapa(quads_at<S>(base, 0), k);
        stats[k] = ld_shared_cluster_v4(at + S::DP / 8 * k_quad_step);
        part[0][k] = ld_shared_cluster_v4(at + 2 * pair * k_quad_step);
        part[1][k] = ld_shared_cluster_v4(at + (2 * pair + 1) * k_quad_step);
      }
    }
    const float4 all = weights_of_parts(weight, stats);
    float4 sum[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      sum[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (int k = 0; k < Ranks; ++k) add_quad(sum[i], weight[k], part[i][k]);
    }
    const int d = pair * 16 + lane % 2 * 8 + lane % 4 / 2 * 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float m = half == 0 ? all.x : all.z, l = half == 0 ? all.y : all.w;
      const float inverse = l > 0.0f ? 1.0f / l : 0.0f;  // a row with no key gives zeros
      const uint2 bits = side_by_side<T>(sum[0], sum[1], half, inverse);
      const int row = first_row + warp % 4 * 16 + 8 * half + lane / 4;
      if (row >= p.rows) continue;
      const int query = row / p.group, head = head_kv * p.group + row % p.group;
      if (d < p.merge.dim_v) {
        *reinterpret_cast<uint2*>(static_cast<T*>(p.merge.out) + batch * p.merge.so.batch +
                                  head * p.merge.so.head + query * p.merge.so.row + d) = bits;
      }
      if (p.merge.lse != nullptr && pair == 0 && lane % 4 == 0) {
        store_lse(p.merge, batch, head_kv, row, m, l);
      }
    }
  }
}

// The whole merge of a block whose cluster holds its head alone. Blocks leave together, so that no
// peer's shared memory goes away under a reader.
template <class S, class P>
__device__ __forceinline__ void add_and_store(const float (&o)[S::DP / 8][4], const RowState& r,
                                              const P& p, unsigned char* smem, int batch,
                                              int head_kv, int first_row, const Slice& slice) {
  const uint32_t base = smem_address(smem);
  add_warpgroups<S>(o, r, p.scale_log2, base);
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (slice.ranks <= 4) {
    pull_columns<S, 4>(p, base, batch, head_kv, first_row, slice);
  } else if (slice.ranks <= 8) {
    pull_columns<S, 8>(p, base, batch, head_kv, first_row, slice);
  } else {
    pull_columns<S, 16>(p, base, batch, head_kv, first_row, slice);
  }
  barrier_cluster_arrive_relaxed();  // nothing to make known: the peers' sums are used
  barrier_cluster_wait();
}

}  // namespace wb::gpu
