// SPDX-License-Identifier: MIT
// The merge of a split-KV kernel in the launch that made the parts: over the warps of a block, over
// the blocks of a cluster through distributed shared memory, and, where several clusters share a
// head, over clusters through the workspace. Every block of a cluster ends up owning one slice of
// the rows' columns, so the last step is spread over all of them.
//
// A kernel describes itself by a type S: T (element), DP (padded head dim), WK (warps that split
// the keys), k_rows (packed rows of a block), k_threads, k_partial_stride (floats of a row of a
// warp's partial O) and k_partial_warp (floats between two warps' partials). Maxima are in log2
// units. Packed row r is query r / group of head head_kv * group + r % group.
#pragma once

#include <cmath>

#include "sdpa_abi.h"
#include "sm80/mma.cuh"
#include "sm90/cluster.cuh"
#include "sm90/mbarrier.cuh"

namespace wb::gpu {

inline constexpr int k_max_cluster = 16;
inline constexpr int k_max_parts = 32;  // clusters of a head that merge through the workspace

struct MergeParams {
  void* out;
  float* lse;
  uint32_t* tickets;   // one per (row block, head, rank); zero between calls
  float4* partial;     // [row block, head][cluster][rows * DP / 4]
  float2* partial_ml;  // [row block, head][cluster][rank][rows]
  wb_strides so;
  int64_t lse_batch_stride;
  int group, seq_q, dim_v;
};

// Shared memory that peers push into; floats behind it are the kernel's own.
template <class S>
struct MergeSmem {
  static constexpr int k_warp_ml = 0;                                       // float2 [WK][rows]
  static constexpr int k_recv_ml = k_warp_ml + S::WK * S::k_rows * 8;       // float2 [rank][rows]
  static constexpr int k_recv = k_recv_ml + k_max_cluster * S::k_rows * 8;  // float4 [rank][slice]
  static constexpr int k_slices = (S::k_rows * S::DP / 4 + k_max_cluster) * 16;
  static constexpr int k_weights = (k_max_parts + 1) * S::k_rows * 8;  // overlays the slices
  static constexpr int k_bytes = k_recv + (k_slices > k_weights ? k_slices : k_weights);
};

// The slice of the row block's quads (4 columns of a row) that a rank owns.
struct Slice {
  int ranks, rank, per_rank, own;
};

template <class S>
__device__ __forceinline__ Slice slice_of(int ranks, int rank, int live_rows) {
  const int quads = live_rows * (S::DP / 4);
  const int per_rank = (quads + ranks - 1) / ranks;
  return {ranks, rank, per_rank, max(0, min(per_rank, quads - rank * per_rank))};
}

// Bytes that a cluster's blocks push into each: what its merge barrier has to expect.
__device__ __forceinline__ uint32_t merge_bytes(const Slice& slice, int live_rows) {
  return slice.ranks * (slice.own * 16 + live_rows * 8);
}

__device__ __forceinline__ float merge_weight(float m, float top) {
  return m == -INFINITY ? 0.0f : ex2(m - top);
}

__device__ __forceinline__ void add_scaled(float4& sum, float weight, const float4& v) {
  sum.x += weight * v.x;
  sum.y += weight * v.y;
  sum.z += weight * v.z;
  sum.w += weight * v.w;
}

__device__ __forceinline__ float4 ld_shared_v4(uint32_t at) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(at)
               : "memory");
  return v;
}

__device__ __forceinline__ float2 ld_shared_v2(uint32_t at) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(at) : "memory");
  return v;
}

// The blocks' key ranges are merged in two steps: over the warps of a block here, each sum pushed
// to the block of the cluster that owns that part of the output; then over blocks in `finish`.
template <class S>
__device__ __forceinline__ void push_partials(const float* partial, unsigned char* smem,
                                              uint32_t barrier, int live_rows, const Slice& slice) {
  const float2* warp_ml = reinterpret_cast<const float2*>(smem + MergeSmem<S>::k_warp_ml);
  const uint32_t recv = smem_address(smem) + MergeSmem<S>::k_recv;
  const uint32_t recv_ml = smem_address(smem) + MergeSmem<S>::k_recv_ml;
  const int ranks = slice.ranks, rank = slice.rank, per_rank = slice.per_rank;
  const int quads = live_rows * (S::DP / 4);
  for (int e = threadIdx.x; e < quads; e += S::k_threads) {
    const int row = e / (S::DP / 4), d = (e % (S::DP / 4)) * 4;
    float top = -INFINITY;
#pragma unroll
    for (int k = 0; k < S::WK; ++k) top = fmaxf(top, warp_ml[k * S::k_rows + row].x);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float l = 0.0f;
#pragma unroll
    for (int k = 0; k < S::WK; ++k) {
      const float2 ml = warp_ml[k * S::k_rows + row];
      const float weight = merge_weight(ml.x, top);
      l += weight * ml.y;
      add_scaled(sum, weight,
                 *reinterpret_cast<const float4*>(partial + k * S::k_partial_warp +
                                                  row * S::k_partial_stride + d));
    }
    if (ranks == 1) {  // no peers: plain stores, and a block barrier instead of the mbarrier
      reinterpret_cast<float4*>(smem + MergeSmem<S>::k_recv)[e] = sum;
      if (d == 0) {
        reinterpret_cast<float2*>(smem + MergeSmem<S>::k_recv_ml)[row] = make_float2(top, l);
      }
      continue;
    }
    const int owner = e / per_rank;
    const uint32_t at = recv + (rank * per_rank + e - owner * per_rank) * 16;
    st_async_v4(mapa(at, owner), sum, mapa(barrier, owner));
    if (d < 4 * ranks) {  // spread the (m, l) copies over the first lanes of the row
      const int peer = d / 4;
      st_async_v2(mapa(recv_ml + (rank * S::k_rows + row) * 8, peer), make_float2(top, l),
                  mapa(barrier, peer));
    }
  }
}

template <typename T>
__device__ __forceinline__ void store_output(const MergeParams& p, int batch, int head_kv, int row,
                                             int d, float4 v, float l) {
  if (d >= p.dim_v) return;
  const float inverse = l > 0.0f ? 1.0f / l : 0.0f;  // a row with no key gives zeros
  const int query = row / p.group;
  const int head = head_kv * p.group + row % p.group;
  T* out = static_cast<T*>(p.out) + batch * p.so.batch + head * p.so.head + query * p.so.row + d;
  uint2 bits;
  bits.x = pack2<T>(v.x * inverse, v.y * inverse);
  bits.y = pack2<T>(v.z * inverse, v.w * inverse);
  *reinterpret_cast<uint2*>(out) = bits;
}

__device__ __forceinline__ void store_lse(const MergeParams& p, int batch, int head_kv, int row,
                                          float m, float l) {
  const int query = row / p.group;
  const int head = head_kv * p.group + row % p.group;
  p.lse[batch * p.lse_batch_stride + int64_t(head) * p.seq_q + query] =
      l > 0.0f ? m * k_ln_2 + logf(l) : -INFINITY;
}

// The sum over `count` (at most 16) sources of a row's softmax statistics; `at(i)` gives source i's
// (m, l). Unrolled, so that all reads are under way before the first is used.
template <class At>
__device__ __forceinline__ float2 merge_ml(int count, At at) {
  float2 ml[k_max_cluster];
  float top = -INFINITY, l = 0.0f;
#pragma unroll
  for (int i = 0; i < k_max_cluster; ++i) {
    ml[i] = i < count ? at(i) : make_float2(-INFINITY, 0.0f);
    top = fmaxf(top, ml[i].x);
  }
#pragma unroll
  for (int i = 0; i < k_max_cluster; ++i) l += merge_weight(ml[i].x, top) * ml[i].y;
  return make_float2(top, l);
}

// The same for the row's columns; `part(i)` gives source i's four values.
template <class At, class Part>
__device__ __forceinline__ float4 merge_parts(int count, float top, At at, Part part) {
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int i = 0; i < k_max_cluster; ++i) {
    if (i < count) add_scaled(sum, merge_weight(at(i).x, top), part(i));
  }
  return sum;
}

// Several clusters share this head: leave this cluster's sums in the workspace; the last cluster to
// come (per owned slice) adds them up. The ticket returns to zero for the next call.
template <class S>
__device__ __forceinline__ void finish_in_workspace(const MergeParams& p, const float4* recv,
                                                    const float2* recv_ml, int batch, int head_kv,
                                                    int first_row, int live_rows,
                                                    const Slice& slice, uint32_t* is_last) {
  const int ranks = slice.ranks, rank = slice.rank;
  const int per_rank = slice.per_rank, own = slice.own;
  const int clusters = gridDim.x / ranks, cluster = blockIdx.x / ranks;
  const int64_t unit = int64_t(blockIdx.z) * gridDim.y + blockIdx.y;
  float4* sums = p.partial + unit * clusters * (S::k_rows * S::DP / 4);
  float2* stats = p.partial_ml + unit * clusters * ranks * S::k_rows;
  const auto row_of = [&](int i) { return (rank * per_rank + i) / (S::DP / 4); };
  for (int i = threadIdx.x; i < own; i += S::k_threads) {
    const int row = row_of(i);
    const auto ml = [&](int r) { return recv_ml[r * S::k_rows + row]; };
    const float2 all = merge_ml(ranks, ml);
    const float4 sum = merge_parts(ranks, all.x, ml, [&](int r) { return recv[r * per_rank + i]; });
    __stcg(sums + cluster * (S::k_rows * S::DP / 4) + rank * per_rank + i, sum);
  }
  for (int row = threadIdx.x; row < live_rows; row += S::k_threads) {
    __stcg(stats + (cluster * ranks + rank) * S::k_rows + row,
           merge_ml(ranks, [&](int r) { return recv_ml[r * S::k_rows + row]; }));
  }
  __threadfence();  // the sums before the ticket that announces them
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t* ticket = p.tickets + unit * ranks + rank;
    *is_last = atomicAdd(ticket, 1u) == uint32_t(clusters - 1) ? 1u : 0u;
    if (*is_last != 0) *ticket = 0;
    __threadfence();  // the ticket before the other clusters' sums are read
  }
  __syncthreads();
  if (*is_last == 0) return;
  const auto stat = [&](int c, int row) {
    return __ldcg(stats + (c * ranks + rank) * S::k_rows + row);
  };
  // Each part's (m, l) of each row becomes (weight, l), over the sums, which are not needed now.
  float2* weights = const_cast<float2*>(reinterpret_cast<const float2*>(recv));
  for (int e = threadIdx.x; e < clusters * live_rows; e += S::k_threads) {
    weights[e] = stat(e / live_rows, e % live_rows);
  }
  __syncthreads();
  float2* total = weights + k_max_parts * live_rows;
  for (int row = threadIdx.x; row < live_rows; row += S::k_threads) {
    float top = -INFINITY, l = 0.0f;
#pragma unroll 8
    for (int c = 0; c < clusters; ++c) top = fmaxf(top, weights[c * live_rows + row].x);
#pragma unroll 8
    for (int c = 0; c < clusters; ++c) {
      float2& ml = weights[c * live_rows + row];
      ml.x = merge_weight(ml.x, top);
      l += ml.x * ml.y;
    }
    total[row] = make_float2(top, l);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < own; i += S::k_threads) {
    const int e = rank * per_rank + i, row = row_of(i);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
    for (int c = 0; c < clusters; ++c) {
      add_scaled(sum, weights[c * live_rows + row].x,
                 __ldcg(sums + c * (S::k_rows * S::DP / 4) + e));
    }
    store_output<typename S::T>(p, batch, head_kv, first_row + row, (e % (S::DP / 4)) * 4, sum,
                                total[row].y);
  }
  if (p.lse == nullptr || rank != 0) return;
  for (int row = threadIdx.x; row < live_rows; row += S::k_threads) {
    store_lse(p, batch, head_kv, first_row + row, total[row].x, total[row].y);
  }
}

// Adds up what the cluster's blocks pushed here: this block's slice of the output.
template <class S>
__device__ __forceinline__ void finish_in_cluster(const MergeParams& p, const float4* recv,
                                                  const float2* recv_ml, int batch, int head_kv,
                                                  int first_row, int live_rows,
                                                  const Slice& slice) {
  const int ranks = slice.ranks, rank = slice.rank;
  const int per_rank = slice.per_rank, own = slice.own;
  for (int i = threadIdx.x; i < own; i += S::k_threads) {
    const int e = rank * per_rank + i, row = e / (S::DP / 4);
    const auto ml = [&](int r) { return recv_ml[r * S::k_rows + row]; };
    const float2 all = merge_ml(ranks, ml);
    const float4 sum = merge_parts(ranks, all.x, ml, [&](int r) { return recv[r * per_rank + i]; });
    store_output<typename S::T>(p, batch, head_kv, first_row + row, (e % (S::DP / 4)) * 4, sum,
                                all.y);
  }
  if (p.lse == nullptr || rank != 0) return;
  for (int row = threadIdx.x; row < live_rows; row += S::k_threads) {
    const float2 all = merge_ml(ranks, [&](int r) { return recv_ml[r * S::k_rows + row]; });
    store_lse(p, batch, head_kv, first_row + row, all.x, all.y);
  }
}

// The whole merge of a block: `partial` and the (m, l) in `smem` are written and visible to the
// block; the barrier expects merge_bytes; every block of the cluster has initialised its barrier.
template <class S>
__device__ __forceinline__ void merge_and_store(const MergeParams& p, const float* partial,
                                                unsigned char* smem, uint32_t barrier, int batch,
                                                int head_kv, int first_row, int live_rows,
                                                const Slice& slice) {
  push_partials<S>(partial, smem, barrier, live_rows, slice);
  if (slice.ranks == 1) {
    __syncthreads();
  } else {
    mbarrier_wait_parity(barrier, 0);
  }
  const float4* recv = reinterpret_cast<const float4*>(smem + MergeSmem<S>::k_recv);
  const float2* recv_ml = reinterpret_cast<const float2*>(smem + MergeSmem<S>::k_recv_ml);
  if (slice.ranks == gridDim.x) {
    finish_in_cluster<S>(p, recv, recv_ml, batch, head_kv, first_row, live_rows, slice);
  } else {
    finish_in_workspace<S>(p, recv, recv_ml, batch, head_kv, first_row, live_rows, slice,
                           reinterpret_cast<uint32_t*>(smem + MergeSmem<S>::k_warp_ml));
  }
}

}  // namespace wb::gpu
