// SPDX-License-Identifier: MIT
// The merge inside one cluster for kernels whose row block has no more quads (4 columns of a row)
// than the block has threads: cluster_merge.cuh's exchange with one quad a thread. On a small cache
// the merge runs once, alone on its SM, and costs what its instructions cost one after the other
// (3000 cycles of a 4 us call, most of it index arithmetic), so everything that does not depend on
// data is worked out beforehand, while the kernel before this one drains.
#pragma once

#include "cluster_merge.cuh"

namespace wb::gpu {

inline constexpr int k_quad_ranks = 8;  // blocks of a cluster that this merge can hold

template <class S>
inline constexpr bool fits_quad_merge = S::k_rows*(S::DP / 4) <= S::k_threads;

// What this thread gives away and what it owns.
template <class S>
struct QuadMerge {
  bool gives, gives_stat, owns;
  uint32_t sum_to,
      sum_done;                 // where its quad's sum goes, and the barrier that counts it
  uint32_t stat_to, stat_done;  // the same for the copy of (m, l) that it sends
  uint32_t sum_at,
      stat_at;         // the owned quad's parts and its row's (m, l) here, rank 0 first
  uint32_t sum_step;   // bytes between two ranks' parts
  int row, column;     // of the quad given away
  typename S::T* out;  // of the owned quad; null where its columns do not exist
  float* lse;          // null but in the first quad of a row
};

template <class S>
__device__ __forceinline__ QuadMerge<S> plan_quads(const MergeParams& p, uint32_t smem,
                                                   uint32_t barrier, int batch, int head_kv,
                                                   int first_row, int live_rows,
                                                   const Slice& slice) {
  constexpr int row_quads = S::DP / 4;
  const uint32_t recv = smem + MergeSmem<S>::k_recv, recv_ml = smem + MergeSmem<S>::k_recv_ml;
  QuadMerge<S> q;
  const int e = threadIdx.x, owner = e / slice.per_rank;
  q.row = e / row_quads;
  q.column = e % row_quads * 4;
  q.gives = q.row < live_rows;
  q.gives_stat = q.gives && e % row_quads < slice.ranks;
  q.sum_to = mapa(recv + (slice.rank * slice.per_rank + e - owner * slice.per_rank) * 16,
                  q.gives ? owner : 0);
  q.sum_done = mapa(barrier, q.gives ? owner : 0);
  const int peer = q.gives_stat ? e % row_quads : 0;
  q.stat_to = mapa(recv_ml + (slice.rank * S::k_rows + q.row) * 8, peer);
  q.stat_done = mapa(barrier, peer);

  const int own = slice.rank * slice.per_rank + e, own_row = own / row_quads;
  const int d = own % row_quads * 4, packed = first_row + own_row;
  const int query = packed / p.group, head = head_kv * p.group + packed % p.group;
  q.owns = e < slice.own;
  q.sum_at = recv + e * 16;
  q.sum_step = slice.per_rank * 16;
  q.stat_at = recv_ml + own_row * 8;
  q.out = static_cast<typename S::T*>(p.out) + batch * p.so.batch + head * p.so.head +
          query * p.so.row + d;
  if (d >= p.dim_v) q.out = nullptr;
  q.lse = p.lse == nullptr || d != 0
              ? nullptr
              : p.lse + batch * p.lse_batch_stride + int64_t(head) * p.seq_q + query;
  return q;
}

// The weighted sum of up to N parts; `ml[i]` of a missing one is (-inf, 0). Returns (m, l).
template <int N>
__device__ __forceinline__ float2 add_parts(float4& sum, const float2 (&ml)[N],
                                            const float4 (&part)[N]) {
  float top = ml[0].x, l = 0.0f;
#pragma unroll
  for (int i = 1; i < N; ++i) top = fmaxf(top, ml[i].x);
  const float shift = top == -INFINITY ? 0.0f : top;  // no key seen: weights of 0, not NaN
  sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const float weight = ex2(ml[i].x - shift);
    l += weight * ml[i].y;
    add_scaled(sum, weight, part[i]);
  }
  return make_float2(top, l);
}

// The owned quad's result: sums divided, and the row's LSE where this thread has to write it.
template <class S>
__device__ __forceinline__ void store_quad(const QuadMerge<S>& q, const float4& sum, float2 all) {
  const float inverse = all.y > 0.0f ? __fdividef(1.0f, all.y) : 0.0f;  // no key: zeros
  if (q.out != nullptr) {
    uint2 bits;
    bits.x = pack2<typename S::T>(sum.x * inverse, sum.y * inverse);
    bits.y = pack2<typename S::T>(sum.z * inverse, sum.w * inverse);
    *reinterpret_cast<uint2*>(q.out) = bits;
  }
  if (q.lse != nullptr) *q.lse = all.y > 0.0f ? all.x * k_ln_2 + logf(all.y) : -INFINITY;
}

// Adds the block's warps up and sends the sum to its owner; alone in its cluster, a block owns what
// it gives. `partial` and the warps' (m, l) are written and visible to the block; every block of
// the cluster has initialised its barrier.
template <class S>
__device__ __forceinline__ void give_quad(const QuadMerge<S>& q, uint32_t partial, uint32_t smem,
                                          int ranks) {
  if (!q.gives) return;
  const uint32_t at = partial + (q.row * S::k_partial_stride + q.column) * 4;
  const uint32_t ml_at = smem + MergeSmem<S>::k_warp_ml + q.row * 8;
  float2 ml[S::WK];
  float4 part[S::WK], sum;
#pragma unroll
  for (int k = 0; k < S::WK; ++k) {
    ml[k] = ld_shared_v2(ml_at + k * S::k_rows * 8);
    part[k] = ld_shared_v4(at + k * S::k_partial_warp * 4);
  }
  const float2 all = add_parts(sum, ml, part);
  if (ranks == 1) {
    store_quad<S>(q, sum, all);
    return;
  }
  st_async_v4(q.sum_to, sum, q.sum_done);
  if (q.gives_stat) st_async_v2(q.stat_to, all, q.stat_done);
}

// Waits for all parts of the owned quad, adds them up and stores the result.
template <class S>
__device__ __forceinline__ void take_quad(const QuadMerge<S>& q, uint32_t barrier, int ranks) {
  if (ranks == 1) return;
  mbarrier_wait_parity(barrier, 0);
  if (!q.owns) return;
  float2 ml[k_quad_ranks];
  float4 part[k_quad_ranks], sum;
#pragma unroll
  for (int r = 0; r < k_quad_ranks; ++r) {
    ml[r] = make_float2(-INFINITY, 0.0f);
    part[r] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (r < ranks) {
      ml[r] = ld_shared_v2(q.stat_at + r * S::k_rows * 8);
      part[r] = ld_shared_v4(q.sum_at + r * q.sum_step);
    }
  }
  const float2 all = add_parts(sum, ml, part);
  store_quad<S>(q, sum, all);
}

}  // namespace wb::gpu
