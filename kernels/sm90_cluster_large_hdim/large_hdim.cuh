// SPDX-License-Identifier: MIT
// The device part of sm90_cluster_large_hdim: the shape of a block, the stages as named functions,
// the kernel. Idea and host part: kernel.cu, its only user.
#pragma once

#include "cluster.cuh"
#include "cp_async.cuh"
#include "griddepcontrol.cuh"
#include "mbarrier.cuh"
#include "mma.cuh"
#include "sdpa_abi.h"

#include <cmath>
#include <cstdint>

#ifndef CLUSTER_RANKS  // blocks of a cluster, 8 or 16; each has 1/CLUSTER_RANKS of the columns
#define CLUSTER_RANKS 16
#endif
#ifndef BLOCK_ROWS  // query rows of a cluster, 16 or 32; 0 chooses by the grid
#define BLOCK_ROWS 0
#endif

#ifndef EARLY_START  // 1: start while the previous kernel drains
#define EARLY_START 1
#endif

namespace {

using namespace wb::gpu;

constexpr int k_ranks = CLUSTER_RANKS;
constexpr int k_threads = 256;

struct Params {
  const float* q;
  const float* k;
  const float* v;
  float* out;
  float* lse;
  wb_strides sq, sk, sv, so;
  int heads_q, group, seq_q, seq_kv, dim, dim_v;
  int causal_offset;  // a row keeps key <= q + offset; seq_kv without a causal rule
  float scale;
};

// BM query rows, BK keys at a time, DS columns a block.
template <int BM_, int BK_, int DS_>
struct Shape {
  static constexpr int BM = BM_, BK = BK_, DS = DS_;
  static constexpr int k_own = BM / k_ranks;           // rows whose softmax a block keeps
  static constexpr int k_line = DS + 4;                // floats; the pad spreads the banks
  static constexpr int k_tiles = BM * BK / 16;         // 4 x 4 score tiles
  static constexpr int k_parts = k_threads / k_tiles;  // column groups that share the scores
  static constexpr int k_part_columns = DS / k_parts;
  // Output rows of a thread; where there are fewer quads than threads, the last threads have none.
  static constexpr int k_out_rows = BM * DS / 4 < k_threads ? 1 : BM * DS / 4 / k_threads;
  static_assert(k_part_columns % 4 == 0);
  // Floats. The partial scores overlay K, which is not needed any more then.
  static constexpr int k_q = 0;
  static constexpr int k_k = k_q + BM * k_line;
  static constexpr int k_k_floats = BK * k_line > k_threads * 16 ? BK* k_line : k_threads * 16;
  static constexpr int k_v = k_k + k_k_floats;
  static constexpr int k_recv_s = k_v + BK * DS;          // [rank][own row][key]
  static constexpr int k_recv_p = k_recv_s + BM * BK;     // [row][key]
  static constexpr int k_recv_stat = k_recv_p + BM * BK;  // float2 [row]: factor for O, sum
  static constexpr int k_barriers = k_recv_stat + 2 * BM;
  // So much that no more blocks share an SM than meant: with early start the next call's would pile
  // up on some (8.8 instead of 6 us at a head dim of 4096).
  static constexpr int k_needed_bytes = (k_barriers + 4) * 4;
  static constexpr int k_alone_bytes = 228 * 512 - 1024 + 16;
  static constexpr int k_smem_bytes =
      DS > 128 && k_needed_bytes < k_alone_bytes ? k_alone_bytes : k_needed_bytes;
};

// Keeps an address that was worked out above this point from being worked out below it.
template <typename P>
__device__ __forceinline__ void settle(P*& pointer) {
  asm volatile("" : "+l"(pointer));
}

// A thread's share of a slice of DS columns: 16-byte unit `unit` of row `row`, then of every row
// `hop` further on.
template <int DS>
struct Share {
  static constexpr int units = DS / 4;
  static constexpr int hop = k_threads / units;
  static_assert(k_threads % units == 0);
  static __device__ __forceinline__ int unit() { return threadIdx.x % units; }
  static __device__ __forceinline__ int row() { return threadIdx.x / units; }
};

// Rows [first, first + Rows) into lines of `Line` floats; `src` is this thread's unit of row 0, of
// which `dim` columns exist in this block's slice. Slices that lie inside need no tests: with them
// the instructions, not the memory, set the pace.
template <int Rows, int DS, int Line>
__device__ __forceinline__ void load_slice(uint32_t smem, const float* src, int64_t stride,
                                           int first, int limit, int dim) {
  using Mine = Share<DS>;
  const int row = Mine::row(), d = Mine::unit() * 4;
  const float* from = src + first * stride;
  const int64_t hop = Mine::hop * stride;
  const uint32_t to = smem + (row * Line + d) * 4;
  constexpr int passes = (Rows + Mine::hop - 1) / Mine::hop;
  if (Rows < Mine::hop && row >= Rows) return;
  if (first + Rows <= limit && dim >= DS) {
#pragma unroll 8
    for (int i = 0; i < passes; ++i, from += hop) {
      cp_async_cg(to + i * (Mine::hop * Line * 4), from);
    }
    return;
  }
#pragma unroll 4
  for (int i = 0; i < passes; ++i, from += hop) {
    const bool valid = first + row + i * Mine::hop < limit && d < dim;
    cp_async_cg_zfill(to + i * (Mine::hop * Line * 4), valid ? from : src - row * stride, valid);
  }
}

// Partial scores over this block's columns. A thread has 4 rows x 4 keys of one column group; keys
// of a thread lie BK / 4 apart so that a warp's lanes read neighbouring lines.
template <class S>
__device__ __forceinline__ void partial_scores(float (&s)[4][4], const float* q, const float* k) {
  const int tile = threadIdx.x % S::k_tiles, part = threadIdx.x / S::k_tiles;
  const int key = tile % (S::BK / 4), row = tile / (S::BK / 4);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) s[i][j] = 0.0f;
  }
  const float* q_line = q + row * S::k_line + part * S::k_part_columns;
  const float* k_line = k + key * S::k_line + part * S::k_part_columns;
#pragma unroll 4
  for (int d = 0; d < S::k_part_columns; d += 4) {
    float4 a[4], b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = *reinterpret_cast<const float4*>(q_line + i * (S::BM / 4) * S::k_line + d);
      b[i] = *reinterpret_cast<const float4*>(k_line + i * (S::BK / 4) * S::k_line + d);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        s[i][j] = fmaf(a[i].x, b[j].x, s[i][j]);
        s[i][j] = fmaf(a[i].y, b[j].y, s[i][j]);
        s[i][j] = fmaf(a[i].z, b[j].z, s[i][j]);
        s[i][j] = fmaf(a[i].w, b[j].w, s[i][j]);
      }
    }
  }
}

template <class S>
__device__ __forceinline__ void stage_scores(float* scratch, const float (&s)[4][4]) {
  const int tile = threadIdx.x % S::k_tiles, part = threadIdx.x / S::k_tiles;
  const int key = tile % (S::BK / 4), row = tile / (S::BK / 4);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      scratch[(part * S::BM + row + i * (S::BM / 4)) * S::BK + key + j * (S::BK / 4)] = s[i][j];
    }
  }
}

// Adds the column groups and pushes every row to the block that owns it.
template <class S>
__device__ __forceinline__ void push_scores(const float* scratch, uint32_t recv, uint32_t barrier,
                                            int rank) {
#pragma unroll
  for (int e = threadIdx.x; e < S::BM * S::BK / 4; e += k_threads) {
    const int row = e / (S::BK / 4), key = e % (S::BK / 4) * 4;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int part = 0; part < S::k_parts; ++part) {
      const float4 x =
          *reinterpret_cast<const float4*>(scratch + (part * S::BM + row) * S::BK + key);
      sum.x += x.x;
      sum.y += x.y;
      sum.z += x.z;
      sum.w += x.w;
    }
    const int owner = row / S::k_own;
    const uint32_t at = recv + ((rank * S::k_own + row % S::k_own) * S::BK + key) * 4;
    st_async_v4(mapa(at, owner), sum, mapa(barrier, owner));
  }
}

// One warp per owned row: adds the 16 blocks' scores, advances the row's softmax and sends the
// probabilities and the factor for O to every block. A lane has the keys 2 lane and 2 lane + 1.
template <class S>
__device__ __forceinline__ void own_softmax(const float* recv_s, uint32_t recv_p,
                                            uint32_t recv_stat, uint32_t barrier, float& m,
                                            float& l, int row, int own_row, int key_count,
                                            float scale, int lane) {
  float2 s = make_float2(-INFINITY, -INFINITY);
  if (2 * lane < S::BK) {
    float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll
    for (int r = 0; r < k_ranks; ++r) {
      const float2 x =
          *reinterpret_cast<const float2*>(recv_s + (r * S::k_own + own_row) * S::BK + 2 * lane);
      sum.x += x.x;
      sum.y += x.y;
    }
    if (2 * lane < key_count) s.x = sum.x * scale;
    if (2 * lane + 1 < key_count) s.y = sum.y * scale;
  }
  float top = fmaxf(m, fmaxf(s.x, s.y));
#pragma unroll
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
  const float shift = top == -INFINITY ? 0.0f : top;  // no key seen yet
  // Subtract before scaling to log2 units: the difference is exact where it matters most.
  const float alpha = exp2f((m - shift) * k_log2_e);
  const float2 prob = make_float2(exp2f((s.x - shift) * k_log2_e), exp2f((s.y - shift) * k_log2_e));
  float sum = prob.x + prob.y;
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  m = top;
  l = l * alpha + sum;
  if (2 * lane < S::BK) {
#pragma unroll
    for (int r = 0; r < k_ranks; ++r) {
      st_async_v2(mapa(recv_p + (row * S::BK + 2 * lane) * 4, r), prob, mapa(barrier, r));
    }
  }
  if (lane < k_ranks) {
    st_async_v2(mapa(recv_stat + row * 8, lane), make_float2(alpha, l), mapa(barrier, lane));
  }
}

template <class S>
struct Output {
  float4 o[S::k_out_rows];
};

__device__ __forceinline__ void multiply_add(float4& o, float p, const float4& v) {
  o.x = fmaf(p, v.x, o.x);
  o.y = fmaf(p, v.y, o.y);
  o.z = fmaf(p, v.z, o.z);
  o.w = fmaf(p, v.w, o.w);
}

// O = O * factor + P V on this block's columns.
template <class S>
__device__ __forceinline__ void accumulate(Output<S>& out, const float* prob, const float2* stat,
                                           const float* v, int first_row, int column) {
#pragma unroll
  for (int i = 0; i < S::k_out_rows; ++i) {
    const float factor = stat[first_row + i].x;
    out.o[i].x *= factor;
    out.o[i].y *= factor;
    out.o[i].z *= factor;
    out.o[i].w *= factor;
  }
#pragma unroll 4
  for (int key = 0; key < S::BK; key += 4) {
    float4 value[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      value[j] = *reinterpret_cast<const float4*>(v + (key + j) * S::DS + column);
    }
#pragma unroll
    for (int i = 0; i < S::k_out_rows; ++i) {
      const float4 p = *reinterpret_cast<const float4*>(prob + (first_row + i) * S::BK + key);
      multiply_add(out.o[i], p.x, value[0]);
      multiply_add(out.o[i], p.y, value[1]);
      multiply_add(out.o[i], p.z, value[2]);
      multiply_add(out.o[i], p.w, value[3]);
    }
  }
}

template <class S>
__global__ void __launch_bounds__(k_threads, S::DS <= 128 ? 2 : 1) large_hdim(const Params p) {
  extern __shared__ __align__(16) float smem[];
  const uint32_t base = smem_address(smem);
  const uint32_t score_barrier = base + S::k_barriers * 4, prob_barrier = score_barrier + 8;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int rank = cluster_ctarank();
  const int first_query = blockIdx.y * S::BM;
  const int batch = blockIdx.z / p.heads_q, head = blockIdx.z % p.heads_q;
  const int head_kv = head / p.group;
  const int column = rank * S::DS;
  // This thread's unit of the first row; a block without columns keeps to the tensor's start.
  const auto mine = [&](const float* tensor, const wb_strides& s, int h, int dim) {
    const int d = column + Share<S::DS>::unit() * 4;
    return tensor + batch * s.batch + h * s.head + Share<S::DS>::row() * s.row + (d < dim ? d : 0);
  };
  const float* q = mine(p.q, p.sq, head, p.dim);
  const float* k = mine(p.k, p.sk, head_kv, p.dim);
  const float* v = mine(p.v, p.sv, head_kv, p.dim_v);
  q += first_query * p.sq.row;
  const int own_dim = p.dim - column, own_dim_v = p.dim_v - column;

  const int last_query = min(first_query + S::BM, p.seq_q) - 1;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  const int blocks = (keys + S::BK - 1) / S::BK;

  if (threadIdx.x == 0) {
    mbarrier_init(score_barrier, 1);
    mbarrier_init(prob_barrier, 1);
    fence_mbarrier_init();
  }
  if (threadIdx.x < 2 * S::BM) smem[S::k_recv_stat + threadIdx.x] = 0.0f;
#if EARLY_START
  griddepcontrol_launch_dependents();
#endif
  const int out_column = threadIdx.x % (S::DS / 4) * 4;
  const int out_row = threadIdx.x / (S::DS / 4) * S::k_out_rows;
  float* to = p.out + batch * p.so.batch + head * p.so.head +
              int64_t(first_query + out_row) * p.so.row + column + out_column;
  settle(q);
  settle(k);
  settle(v);
  settle(to);
#if EARLY_START
  griddepcontrol_wait();
#endif
  load_slice<S::BM, S::DS, S::k_line>(base + S::k_q * 4, q, p.sq.row, 0, p.seq_q - first_query,
                                      own_dim);
  load_slice<S::BK, S::DS, S::k_line>(base + S::k_k * 4, k, p.sk.row, 0, p.seq_kv, own_dim);
  cp_async_commit_group();
  load_slice<S::BK, S::DS, S::DS>(base + S::k_v * 4, v, p.sv.row, 0, p.seq_kv, own_dim_v);
  cp_async_commit_group();
  __syncthreads();
  barrier_cluster_arrive();  // this block's barriers are ready for the peers' pushes
  bool peers_ready = false;

  float m = -INFINITY, l = 0.0f;  // of row `own_row`, in the warps below k_own
  const int own_row = warp;
  const int row = rank * S::k_own + own_row;
  Output<S> out;
#pragma unroll
  for (int i = 0; i < S::k_out_rows; ++i) out.o[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

  for (int block = 0; block < blocks; ++block) {
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(score_barrier, S::BM * S::BK * 4);
      mbarrier_arrive_expect_tx(prob_barrier, S::BM * (S::BK * 4 + 8));
    }
    cp_async_wait_group<1>();
    __syncthreads();  // Q and this block's K have landed
    {
      float s[4][4];
      partial_scores<S>(s, smem + S::k_q, smem + S::k_k);
      __syncthreads();  // K's readers are done: the scores overlay it
      stage_scores<S>(smem + S::k_k, s);
      __syncthreads();
    }
    if (!peers_ready) {
      barrier_cluster_wait();
      peers_ready = true;
    }
    push_scores<S>(smem + S::k_k, base + S::k_recv_s * 4, score_barrier, rank);
    __syncthreads();  // the staged scores are read: the next K may land on them
    if (block + 1 < blocks) {
      load_slice<S::BK, S::DS, S::k_line>(base + S::k_k * 4, k, p.sk.row, (block + 1) * S::BK,
                                          p.seq_kv, own_dim);
    }
    cp_async_commit_group();
    if (warp < S::k_own) {
      mbarrier_wait_parity_cluster(score_barrier, block & 1);
      const int limit = min(p.seq_kv - 1, first_query + row + p.causal_offset);
      own_softmax<S>(smem + S::k_recv_s, base + S::k_recv_p * 4, base + S::k_recv_stat * 4,
                     prob_barrier, m, l, row, own_row, limit + 1 - block * S::BK, p.scale, lane);
    }
    cp_async_wait_group<1>();
    mbarrier_wait_parity_cluster(prob_barrier, block & 1);
    __syncthreads();  // V has landed for every thread
    if (out_row < S::BM) {
      accumulate<S>(out, smem + S::k_recv_p, reinterpret_cast<const float2*>(smem + S::k_recv_stat),
                    smem + S::k_v, out_row, out_column);
    }
    if (block + 1 < blocks) {
      __syncthreads();  // V's and P's readers are done
      load_slice<S::BK, S::DS, S::DS>(base + S::k_v * 4, v, p.sv.row, (block + 1) * S::BK, p.seq_kv,
                                      own_dim_v);
    }
    cp_async_commit_group();
  }
  if (!peers_ready) barrier_cluster_wait();
  cp_async_wait_group<0>();

  const float2* stat = reinterpret_cast<const float2*>(smem + S::k_recv_stat);
#pragma unroll
  for (int i = 0; i < S::k_out_rows; ++i) {
    const int query = first_query + out_row + i;
    if (out_row >= S::BM || query >= p.seq_q || column + out_column >= p.dim_v) continue;
    const float sum = stat[out_row + i].y;
    const float inverse = sum > 0.0f ? __fdividef(1.0f, sum) : 0.0f;  // no key: zeros
    *reinterpret_cast<float4*>(to + i * p.so.row) = make_float4(
        out.o[i].x * inverse, out.o[i].y * inverse, out.o[i].z * inverse, out.o[i].w * inverse);
  }
  if (p.lse != nullptr && warp < S::k_own && lane == 0 && first_query + row < p.seq_q) {
    p.lse[int64_t(blockIdx.z) * p.seq_q + first_query + row] = l > 0.0f ? m + logf(l) : -INFINITY;
  }
}

}  // namespace
