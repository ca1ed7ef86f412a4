// SPDX-License-Identifier: MIT
// The merge of split keys for kernels that end with it alone on their SMs: cluster_merge.cuh's
// exchange with the quads (4 columns of a row) dealt to threads once, `k_quads` a thread. On a
// small cache the merge runs once and costs what its instructions and its round trips cost one
// after the other, so what does not depend on data is worked out beforehand (while the kernel
// before this one drains, where registers allow), and all reads of a level are under way before the
// first is used.
#pragma once

#include "sm90/cluster_merge.cuh"

namespace wb::gpu {

inline constexpr int k_parts_at_once = 8;  // parts whose reads are under way together

template <class S>
inline constexpr int k_quads = (S::k_rows * (S::DP / 4) + S::k_threads - 1) / S::k_threads;

// What this thread sends away: the sum over the block's warps of one quad, to the quad's owner.
template <class S>
struct SentQuad {
  bool sends, sends_stat;
  uint32_t sum_to, sum_done;    // where its quad's sum goes, and the barrier that counts it
  uint32_t stat_to, stat_done;  // the same for the copy of (m, l) that it sends
  int row, column;
};

// What it owns: a quad whose parts the cluster's blocks send here.
template <class S>
struct OwnedQuad {
  bool owns, first;          // first: of its row in this block
  uint32_t sum_at, stat_at;  // the quad's parts and its row's (m, l) here, rank 0 first
  int index, row;            // of the quad in the block of rows
  typename S::T* out;        // null where its columns do not exist
  float* lse;                // null but in the first quad of a row
};

template <class S>
__device__ __forceinline__ void plan_sent(SentQuad<S> (&sent)[k_quads<S>], uint32_t smem,
                                          uint32_t barrier, int live_rows, const Slice& slice) {
  constexpr int row_quads = S::DP / 4;
  const uint32_t recv = smem + MergeSmem<S>::k_recv, recv_ml = smem + MergeSmem<S>::k_recv_ml;
#pragma unroll
  for (int i = 0; i < k_quads<S>; ++i) {
    SentQuad<S>& q = sent[i];
    const int e = threadIdx.x + i * S::k_threads, owner = e / slice.per_rank;
    q.row = e / row_quads;
    q.column = e % row_quads * 4;
    q.sends = q.row < live_rows;
    q.sends_stat = q.sends && e % row_quads < slice.ranks;
    q.sum_to = mapa(recv + (slice.rank * slice.per_rank + e - owner * slice.per_rank) * 16,
                    q.sends ? owner : 0);
    q.sum_done = mapa(barrier, q.sends ? owner : 0);
    const int peer = q.sends_stat ? e % row_quads : 0;
    q.stat_to = mapa(recv_ml + (slice.rank * S::k_rows + q.row) * 8, peer);
    q.stat_done = mapa(barrier, peer);
  }
}

template <class S>
__device__ __forceinline__ void plan_owned(OwnedQuad<S> (&owned)[k_quads<S>], const MergeParams& p,
                                           uint32_t smem, int batch, int head_kv, int first_row,
                                           const Slice& slice) {
  constexpr int row_quads = S::DP / 4;
#pragma unroll
  for (int i = 0; i < k_quads<S>; ++i) {
    OwnedQuad<S>& q = owned[i];
    const int e = threadIdx.x + i * S::k_threads;
    q.index = slice.rank * slice.per_rank + e;
    q.row = q.index / row_quads;
    const int d = q.index % row_quads * 4, packed = first_row + q.row;
    const int query = packed / p.group, head = head_kv * p.group + packed % p.group;
    q.owns = e < slice.own;
    q.first = e == 0 || d == 0;
    q.sum_at = smem + MergeSmem<S>::k_recv + e * 16;
    q.stat_at = smem + MergeSmem<S>::k_recv_ml + q.row * 8;
    q.out = static_cast<typename S::T*>(p.out) + batch * p.so.batch + head * p.so.head +
            query * p.so.row + d;
    if (d >= p.dim_v) q.out = nullptr;
    q.lse = p.lse == nullptr || d != 0
                ? nullptr
                : p.lse + batch * p.lse_batch_stride + int64_t(head) * p.seq_q + query;
  }
}

// The weighted sum of N parts; `ml[i]` of a missing one is (-inf, 0). Returns the (m, l) of them.
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

// The same for `count` parts of which eight are read at a time, or all eight at once where there
// are no more (`Once`): `ml_of(i)` gives part i's (m, l), `part_of(i)` its columns.
template <bool Once, class Ml, class Part>
__device__ __forceinline__ float2 read_parts(float4& sum, int count, Ml ml_of, Part part_of) {
  constexpr int k_before = k_parts_at_once;  // behind those: the sum of the ones before
  float2 ml[k_parts_at_once + !Once], all;
  float4 part[k_parts_at_once + !Once];
  if constexpr (!Once) {
    ml[k_before] = make_float2(-INFINITY, 0.0f);
    part[k_before] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  int first = 0;
#pragma unroll 1
  do {
#pragma unroll
    for (int i = 0; i < k_parts_at_once; ++i) {
      ml[i] = make_float2(-INFINITY, 0.0f);
      part[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (first + i < count) {
        ml[i] = ml_of(first + i);
        part[i] = part_of(first + i);
      }
    }
    all = add_parts(sum, ml, part);
    if constexpr (!Once) {
      ml[k_before] = all;
      part[k_before] = sum;
    }
    first += k_parts_at_once;
  } while (!Once && first < count);
  return all;
}

// The owned quad's result: sums divided, and the row's LSE where this thread has to write it.
template <class S>
__device__ __forceinline__ void store_quad(const OwnedQuad<S>& q, const float4& sum, float2 all) {
  const float inverse = all.y > 0.0f ? __fdividef(1.0f, all.y) : 0.0f;  // no key: zeros
  if (q.out != nullptr) {
    uint2 bits;
    bits.x = pack2<typename S::T>(sum.x * inverse, sum.y * inverse);
    bits.y = pack2<typename S::T>(sum.z * inverse, sum.w * inverse);
    *reinterpret_cast<uint2*>(q.out) = bits;
  }
  if (q.lse != nullptr) *q.lse = all.y > 0.0f ? all.x * k_ln_2 + logf(all.y) : -INFINITY;
}

// Where a row block's clusters leave their sums for the last of them to add up.
template <class S>
struct QuadWorkspace {
  static constexpr int k_all = S::k_rows * (S::DP / 4);  // quads of a row block
  float4* sums;                                          // [cluster][k_all]
  float2* stats;                                         // [cluster][rank][rows], this rank's first
  uint32_t* ticket;
  int clusters, cluster, stats_step;  // stats_step: between two clusters
};

template <class S>
__device__ __forceinline__ QuadWorkspace<S> quad_workspace(const MergeParams& p,
                                                           const Slice& slice) {
  QuadWorkspace<S> w;
  const int64_t unit = int64_t(blockIdx.z) * gridDim.y + blockIdx.y;
  w.clusters = gridDim.x / slice.ranks;
  w.cluster = blockIdx.x / slice.ranks;
  w.stats_step = slice.ranks * S::k_rows;
  w.sums = p.partial + unit * w.clusters * QuadWorkspace<S>::k_all;
  w.stats = p.partial_ml + unit * w.clusters * w.stats_step + slice.rank * S::k_rows;
  w.ticket = p.tickets + unit * slice.ranks + slice.rank;
  return w;
}

// One cluster's sum of the owned quad: the result where there is no other cluster.
template <class S, bool Spread>
__device__ __forceinline__ void finish_quad(const QuadWorkspace<S>& w, const OwnedQuad<S>& q,
                                            const float4& sum, float2 all) {
  if (!Spread || w.clusters == 1) {
    store_quad<S>(q, sum, all);
    return;
  }
  __stcg(w.sums + w.cluster * QuadWorkspace<S>::k_all + q.index, sum);
  if (q.first) __stcg(w.stats + w.cluster * w.stats_step + q.row, all);
}

// `Spread`: the cluster may have more than eight blocks, and not hold the rows alone. Adds the
// block's warps up and sends the sums to their owners; alone in its cluster, a block owns
// what it sends. `partial` and the warps' (m, l) are written and visible to the block; every block
// of the cluster has initialised its barrier.
template <class S, bool Spread>
__device__ __forceinline__ void send_quads(const SentQuad<S> (&sent)[k_quads<S>],
                                           const OwnedQuad<S> (&owned)[k_quads<S>],
                                           const QuadWorkspace<S>& w, uint32_t partial,
                                           uint32_t smem, int ranks) {
#pragma unroll
  for (int i = 0; i < k_quads<S>; ++i) {
    const SentQuad<S>& q = sent[i];
    if (!q.sends) continue;
    const uint32_t at = partial + (q.row * S::k_partial_stride + q.column) * 4;
    const uint32_t ml_at = smem + MergeSmem<S>::k_warp_ml + q.row * 8;
    float4 sum;
    const float2 all = read_parts<S::WK <= k_parts_at_once>(
        sum, S::WK, [&](int k) { return ld_shared_v2(ml_at + k * S::k_rows * 8); },
        [&](int k) { return ld_shared_v4(at + k * S::k_partial_warp * 4); });
    if (ranks == 1) {
      finish_quad<S, Spread>(w, owned[i], sum, all);
      continue;
    }
    st_async_v4(q.sum_to, sum, q.sum_done);
    if (q.sends_stat) st_async_v2(q.stat_to, all, q.stat_done);
  }
}

// Waits for all parts of the owned quads and adds them up.
template <class S, bool Spread>
__device__ __forceinline__ void receive_quads(const OwnedQuad<S> (&owned)[k_quads<S>],
                                              const QuadWorkspace<S>& w, uint32_t barrier,
                                              const Slice& slice) {
  if (slice.ranks == 1) return;
  mbarrier_wait_parity(barrier, 0);
#pragma unroll
  for (int i = 0; i < k_quads<S>; ++i) {
    const OwnedQuad<S>& q = owned[i];
    if (!q.owns) continue;
    float4 sum;
    const float2 all = read_parts<!Spread>(
        sum, slice.ranks, [&](int r) { return ld_shared_v2(q.stat_at + r * S::k_rows * 8); },
        [&](int r) { return ld_shared_v4(q.sum_at + r * slice.per_rank * 16); });
    finish_quad<S, Spread>(w, q, sum, all);
  }
}

// Several clusters share the rows: the last to come, a slice, adds their sums up. The ticket
// returns to zero for the next call.
template <class S>
__device__ __forceinline__ void gather_clusters(const OwnedQuad<S> (&owned)[k_quads<S>],
                                                const QuadWorkspace<S>& w, uint32_t* is_last) {
  if (w.clusters == 1) return;
  __threadfence();  // the sums before the ticket that announces them
  __syncthreads();
  if (threadIdx.x == 0) {
    *is_last = atomicAdd(w.ticket, 1u) == uint32_t(w.clusters - 1) ? 1u : 0u;
    if (*is_last != 0) *w.ticket = 0;
    __threadfence();  // the ticket before the other clusters' sums are read
  }
  __syncthreads();
  if (*is_last == 0) return;
#pragma unroll
  for (int i = 0; i < k_quads<S>; ++i) {
    const OwnedQuad<S>& q = owned[i];
    if (!q.owns) continue;
    float4 sum;
    const float2 all = read_parts<false>(
        sum, w.clusters, [&](int c) { return __ldcg(w.stats + c * w.stats_step + q.row); },
        [&](int c) { return __ldcg(w.sums + c * QuadWorkspace<S>::k_all + q.index); });
    store_quad<S>(q, sum, all);
  }
}

}  // namespace wb::gpu
