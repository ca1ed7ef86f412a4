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

inline constexpr int k_message_pieces = 3;    // of 16 bytes; a quad's message in the workspace
inline constexpr int k_messages_at_once = 4;  // messages whose reads are under way together

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

// Where a row block's clusters leave their sums for one of them to add up. By tickets it is the
// last to come; by flags it is the last by number, which polls: a message is six floats, each in 8
// bytes beside a flag. 8 bytes arrive whole, so neither a fence nor a ticket has to tell that they
// are there. Clusters are started in the order of their numbers, so those that it waits for run.
template <class S>
struct QuadWorkspace {
  static constexpr int k_all = S::k_rows * (S::DP / 4);  // quads of a row block
  float4* sums;                                          // [cluster][k_all]
  float2* stats;                                         // [cluster][rank][rows], this rank's first
  ulonglong2* messages;                                  // [cluster][piece][k_all]
  uint32_t* ticket;
  int clusters, cluster, stats_step;  // stats_step: between two clusters
};

template <class S>
__device__ __forceinline__ QuadWorkspace<S> quad_workspace(const MergeParams& p,
                                                           const Slice& slice) {
  constexpr int all = QuadWorkspace<S>::k_all;
  QuadWorkspace<S> w;
  const int64_t unit = int64_t(blockIdx.z) * gridDim.y + blockIdx.y;
  w.clusters = gridDim.x / slice.ranks;
  w.cluster = blockIdx.x / slice.ranks;
  w.stats_step = slice.ranks * S::k_rows;
  w.sums = p.partial + unit * w.clusters * all;
  w.stats = p.partial_ml + unit * w.clusters * w.stats_step + slice.rank * S::k_rows;
  w.messages =
      reinterpret_cast<ulonglong2*>(p.partial) + unit * w.clusters * (k_message_pieces * all);
  w.ticket = p.tickets + unit * slice.ranks + slice.rank;
  return w;
}

__device__ __forceinline__ uint64_t with_flag(float v) {
  return uint64_t(1) << 32 | __float_as_uint(v);
}

__device__ __forceinline__ float without_flag(uint64_t v) {
  return __uint_as_float(uint32_t(v));
}

// Each 8 bytes of these are an access of their own.
__device__ __forceinline__ void st_relaxed_v2(ulonglong2* at, uint64_t a, uint64_t b) {
  asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1,%2};" ::"l"(at), "l"(a), "l"(b) : "memory");
}

__device__ __forceinline__ ulonglong2 ld_relaxed_v2(const ulonglong2* at) {
  ulonglong2 v;
  asm volatile("ld.relaxed.gpu.global.v2.b64 {%0,%1}, [%2];"
               : "=l"(v.x), "=l"(v.y)
               : "l"(at)
               : "memory");
  return v;
}

template <class S>
__device__ __forceinline__ void send_message(const QuadWorkspace<S>& w, const OwnedQuad<S>& q,
                                             const float4& sum, float2 all) {
  constexpr int step = QuadWorkspace<S>::k_all;
  ulonglong2* to = w.messages + w.cluster * (k_message_pieces * step) + q.index;
  st_relaxed_v2(to, with_flag(sum.x), with_flag(sum.y));
  st_relaxed_v2(to + step, with_flag(sum.z), with_flag(sum.w));
  st_relaxed_v2(to + 2 * step, with_flag(all.x), with_flag(all.y));
}

// The owned quad's messages of all other clusters, in their order, added to its own sum. Flags
// return to zero for the next call.
template <class S>
__device__ __forceinline__ void gather_messages(const QuadWorkspace<S>& w, const OwnedQuad<S>& q,
                                                float4 sum, float2 all) {
  constexpr int step = QuadWorkspace<S>::k_all, most = k_messages_at_once;
  const int peers = w.clusters - 1;
#pragma unroll 1
  for (int first = 0; first < peers; first += most) {
    ulonglong2* from = w.messages + first * (k_message_pieces * step) + q.index;
    ulonglong2 piece[most][k_message_pieces];
    bool complete;
    do {
      uint64_t flags = uint64_t(1) << 32;
#pragma unroll
      for (int i = 0; i < most; ++i) {
#pragma unroll
        for (int k = 0; k < k_message_pieces; ++k) {
          piece[i][k] = make_ulonglong2(0, 0);
          if (first + i >= peers) continue;
          piece[i][k] = ld_relaxed_v2(from + (i * k_message_pieces + k) * step);
          flags &= piece[i][k].x & piece[i][k].y;
        }
      }
      complete = flags != 0;
    } while (!complete);
    float2 ml[most + 1];
    float4 part[most + 1];
#pragma unroll
    for (int i = 0; i < most; ++i) {
      part[i] = make_float4(without_flag(piece[i][0].x), without_flag(piece[i][0].y),
                            without_flag(piece[i][1].x), without_flag(piece[i][1].y));
      ml[i] = make_float2(without_flag(piece[i][2].x), without_flag(piece[i][2].y));
      if (first + i >= peers) {
        ml[i].x = -INFINITY;
        continue;
      }
#pragma unroll
      for (int k = 0; k < k_message_pieces; ++k) {
        st_relaxed_v2(from + (i * k_message_pieces + k) * step, 0, 0);
      }
    }
    ml[most] = all;
    part[most] = sum;
    all = add_parts(sum, ml, part);
  }
  store_quad<S>(q, sum, all);
}

// One cluster's sum of the owned quad: the result where there is no other cluster.
template <class S, bool Spread, bool Flags>
__device__ __forceinline__ void finish_quad(const QuadWorkspace<S>& w, const OwnedQuad<S>& q,
                                            const float4& sum, float2 all) {
  if (!Spread || w.clusters == 1) {
    store_quad<S>(q, sum, all);
    return;
  }
  if constexpr (Flags) {
    if (w.cluster == w.clusters - 1) {
      gather_messages<S>(w, q, sum, all);
    } else {
      send_message<S>(w, q, sum, all);
    }
    return;
  }
  __stcg(w.sums + w.cluster * QuadWorkspace<S>::k_all + q.index, sum);
  if (q.first) __stcg(w.stats + w.cluster * w.stats_step + q.row, all);
}

// `Spread`: the cluster may have more than eight blocks, and not hold the rows alone. Adds the
// block's warps up and sends the sums to their owners; alone in its cluster, a block owns
// what it sends. `partial` and the warps' (m, l) are written and visible to the block; every block
// of the cluster has initialised its barrier.
template <class S, bool Spread, bool Flags>
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
      finish_quad<S, Spread, Flags>(w, owned[i], sum, all);
      continue;
    }
    st_async_v4(q.sum_to, sum, q.sum_done);
    if (q.sends_stat) st_async_v2(q.stat_to, all, q.stat_done);
  }
}

// Waits for all parts of the owned quads and adds them up.
template <class S, bool Spread, bool Flags>
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
    finish_quad<S, Spread, Flags>(w, q, sum, all);
  }
}

// Several clusters share the rows, and tickets tell who is last: that one adds a slice's sums up.
// The ticket returns to zero for the next call.
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
