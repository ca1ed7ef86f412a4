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
#include "tf32x3.cuh"

#include <cmath>
#include <cstdint>

#ifndef EARLY_START  // 1: start while the previous kernel drains
#define EARLY_START 1
#endif

namespace {

using namespace wb::gpu;

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

// BM query rows, BK keys at a time, DS columns for each of the cluster's RANKS blocks. The products
// are shared by row tiles of 16 and, in each, by columns: a warp has k_columns of the block's in Q
// K^T and as many of O.
template <int RANKS_, int BM_, int BK_, int DS_>
struct Shape {
  static constexpr int RANKS = RANKS_, BM = BM_, BK = BK_, DS = DS_;
  static constexpr int k_warps = k_threads / 32;
  static constexpr int k_own = BM / RANKS;                 // rows whose softmax a block keeps
  static constexpr int k_row_warps = k_warps / k_own;      // that compute the same row's,
  static constexpr int k_row_ranks = RANKS / k_row_warps;  // and send it to so many blocks each
  static constexpr int k_line = DS + 4;                    // floats; the pads spread the banks
  static constexpr int k_v_line = DS + 8;
  static constexpr int k_p_line = BK + 4;
  static constexpr int k_part_line = BK + 8;
  static constexpr int k_parts = k_warps / (BM / 16);  // column groups that share the scores
  static constexpr int k_columns = DS / k_parts < 8 ? 8 : DS / k_parts;
  static constexpr int k_run = k_columns < 32 ? k_columns : 32;  // summed by the tensor cores
  static_assert(k_own > 0 && k_row_ranks > 0 && k_columns % k_run == 0);
  // Floats. The partial scores overlay K, which is not needed any more then.
  static constexpr int k_q = 0;
  static constexpr int k_k = k_q + BM * k_line;
  static constexpr int k_part_floats = k_parts * BM * k_part_line;
  static constexpr int k_k_floats = BK * k_line > k_part_floats ? BK* k_line : k_part_floats;
  static constexpr int k_v = k_k + k_k_floats;
  static constexpr int k_recv_s = k_v + BK * k_v_line;            // [step % 2][rank][own row][key]
  static constexpr int k_recv_p = k_recv_s + 2 * BM * BK;         // [row][key]
  static constexpr int k_recv_factor = k_recv_p + BM * k_p_line;  // float2 [row]: of O, twice
  static constexpr int k_own_top = k_recv_factor + 2 * BM;        // maxima of the own rows
  static constexpr int k_barriers = k_own_top + (k_own + 1) / 2 * 2;
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

// What a warp has of the products: a tile of 16 rows and a group of columns; with few columns the
// last warps have none.
template <class S>
struct Part {
  int row, part, column;
  bool any;
  __device__ __forceinline__ explicit Part(int warp)
      : row(warp / S::k_parts * 16),
        part(warp % S::k_parts),
        column(part * S::k_columns),
        any(column < S::DS) {}
};

template <int N>
__device__ __forceinline__ void clear(float (&s)[N][4]) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) s[n][c] = 0.0f;
  }
}

// Partial scores over the warp's columns.
template <class S>
__device__ __forceinline__ void partial_scores(float (&s)[S::BK / 8][4], uint32_t q, uint32_t k,
                                               const Part<S>& mine, int lane) {
  clear(s);
  if (!mine.any) return;
  const uint32_t q_at = q + (mine.row * S::k_line + mine.column) * 4, k_at = k + mine.column * 4;
#pragma unroll
  for (int run = 0; run < S::k_columns; run += S::k_run) {
    Sums sums[S::BK / 8];
#pragma unroll
    for (int d = run; d < run + S::k_run; d += 8) {
      uint32_t q_part[4];
      load_rows_a(q_part, q_at + d * 4, S::k_line, lane);
      const Split<4> a(q_part);
#pragma unroll
      for (int n = 0; n < S::BK / 8; n += 2) {
        uint32_t x[4];
        load_rows_b(x, k_at + (n * 8 * S::k_line + d) * 4, S::k_line, lane);
        const uint32_t first[2] = {x[0], x[1]}, second[2] = {x[2], x[3]};
        sums[n].add(a, Split<2>(first));
        sums[n + 1].add(a, Split<2>(second));
      }
    }
#pragma unroll
    for (int n = 0; n < S::BK / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) s[n][c] += sums[n].total(c);
    }
  }
}

template <class S>
__device__ __forceinline__ void stage_scores(float* scratch, const float (&s)[S::BK / 8][4],
                                             const Part<S>& mine, int lane) {
  float* at = scratch + (mine.part * S::BM + mine.row + lane / 4) * S::k_part_line + lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < S::BK / 8; ++n) {
    *reinterpret_cast<float2*>(at + 8 * n) = make_float2(s[n][0], s[n][1]);
    *reinterpret_cast<float2*>(at + 8 * S::k_part_line + 8 * n) = make_float2(s[n][2], s[n][3]);
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
          *reinterpret_cast<const float4*>(scratch + (part * S::BM + row) * S::k_part_line + key);
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

// Adds the blocks' scores of an owned row, advances its maximum and sends the probabilities, and
// from the second step on the factor for O, to the blocks from first_rank on; the row's other warps
// do the same for the others. A lane has the keys 2 lane and 2 lane + 1.
template <class S>
__device__ __forceinline__ void own_softmax(const float* recv_s, uint32_t recv_p,
                                            uint32_t recv_factor, uint32_t barrier, float& m,
                                            int row, int own_row, int first_rank, int key_count,
                                            bool later, float scale, int lane) {
  if (2 * lane >= S::BK) return;
  float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll
  for (int r = 0; r < S::RANKS; ++r) {
    const float2 x =
        *reinterpret_cast<const float2*>(recv_s + (r * S::k_own + own_row) * S::BK + 2 * lane);
    sum.x += x.x;
    sum.y += x.y;
  }
  const float2 s = make_float2(2 * lane < key_count ? sum.x * scale : -INFINITY,
                               2 * lane + 1 < key_count ? sum.y * scale : -INFINITY);
  constexpr uint32_t lanes = S::BK == 64 ? ~0u : (1u << S::BK / 2) - 1;
  float top = fmaxf(m, fmaxf(s.x, s.y));
#pragma unroll
  for (int step = S::BK / 4; step > 0; step /= 2) {
    top = fmaxf(top, __shfl_xor_sync(lanes, top, step));
  }
  const float shift = top == -INFINITY ? 0.0f : top;  // no key seen yet
  // Subtract before scaling to log2 units: the difference is exact where it matters most.
  const float2 prob = make_float2(exp2f((s.x - shift) * k_log2_e), exp2f((s.y - shift) * k_log2_e));
#pragma unroll
  for (int r = first_rank; r < first_rank + S::k_row_ranks; ++r) {
    st_async_v2(mapa(recv_p + (row * S::k_p_line + 2 * lane) * 4, r), prob, mapa(barrier, r));
  }
  if (later && lane < S::k_row_ranks) {
    const float factor = exp2f((m - shift) * k_log2_e);
    const int r = first_rank + lane;
    st_async_v2(mapa(recv_factor + row * 8, r), make_float2(factor, factor), mapa(barrier, r));
  }
  m = top;
}

// The columns of O that a lane has of a warp's groups of 8. Groups go in pairs where there are two:
// column c of group n is then 16 (n / 2) + 2 c + n % 2, so that a lane reads V's columns of both
// groups together and has four columns of O side by side.
template <class S>
struct OutColumns {
  static constexpr int groups = S::k_columns / 8;
  static constexpr int together = groups > 1 ? 2 : 1;
};

// O = O * factor + P V on the warp's columns, four groups of 8 at a time; l is the sum of the
// lane's two rows of P, likewise.
template <class S>
__device__ __forceinline__ void accumulate(float (&o)[S::k_columns / 8][4], float (&l)[2],
                                           uint32_t prob, const float2* factors, const float* v,
                                           const Part<S>& mine, int lane) {
  constexpr int groups = OutColumns<S>::groups, some = groups < 4 ? groups : 4;
  constexpr int together = OutColumns<S>::together;
  const float factor[2] = {factors[mine.row + lane / 4].x, factors[mine.row + lane / 4 + 8].x};
  const float* from = v + lane % 4 * S::k_v_line + mine.column + lane / 4 * together;
  float sum[2] = {0.0f, 0.0f};
#pragma unroll
  for (int first = 0; first < groups; first += some) {
    Sums sums[some];
#pragma unroll
    for (int key = 0; key < S::BK; key += 8) {
      uint32_t p[4];
      load_rows_a(p, prob + (mine.row * S::k_p_line + key) * 4, S::k_p_line, lane);
      if (first == 0) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          sum[half] += __uint_as_float(p[half]) + __uint_as_float(p[half + 2]);
        }
      }
      const Split<4> a(p);
#pragma unroll
      for (int n = 0; n < some; n += together) {
        const float* at = from + key * S::k_v_line + (first + n) * 8;
        if constexpr (together == 2) {
          const float2 x = *reinterpret_cast<const float2*>(at);
          const float2 y = *reinterpret_cast<const float2*>(at + 4 * S::k_v_line);
          sums[n].add(a, Split<2>({__float_as_uint(x.x), __float_as_uint(y.x)}));
          sums[n + 1].add(a, Split<2>({__float_as_uint(x.y), __float_as_uint(y.y)}));
        } else {
          sums[n].add(a, Split<2>({__float_as_uint(at[0]), __float_as_uint(at[4 * S::k_v_line])}));
        }
      }
    }
#pragma unroll
    for (int n = 0; n < some; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        o[first + n][c] = fmaf(o[first + n][c], factor[c / 2], sums[n].total(c));
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    sum[half] += __shfl_xor_sync(~0u, sum[half], 1);
    sum[half] += __shfl_xor_sync(~0u, sum[half], 2);
    l[half] = fmaf(l[half], factor[half], sum[half]);
  }
}

// Out from the lane's first column `to` of row `half`, of which `dim` columns are left.
template <class S>
__device__ __forceinline__ void store_row(float* to, const float (&o)[S::k_columns / 8][4],
                                          int half, float inverse, int dim) {
  constexpr int together = OutColumns<S>::together;
#pragma unroll
  for (int n = 0; n < S::k_columns / 8; n += together) {
    if (8 * n >= dim) return;
    const float first = o[n][2 * half] * inverse, last = o[n][2 * half + 1] * inverse;
    if constexpr (together == 2) {
      *reinterpret_cast<float4*>(to + 8 * n) =
          make_float4(first, o[n + 1][2 * half] * inverse, last, o[n + 1][2 * half + 1] * inverse);
    } else {
      *reinterpret_cast<float2*>(to + 8 * n) = make_float2(first, last);
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
  if (threadIdx.x < 2 * S::BM) smem[S::k_recv_factor + threadIdx.x] = 0.0f;
  if (threadIdx.x < S::k_own) smem[S::k_own_top + threadIdx.x] = -INFINITY;
#if EARLY_START
  griddepcontrol_launch_dependents();
#endif
  const Part<S> part(warp);
  const int out_row = part.row + lane / 4;
  const int out_column = column + part.column + lane % 4 * (2 * OutColumns<S>::together);
  float* to = p.out + batch * p.so.batch + head * p.so.head +
              int64_t(first_query + out_row) * p.so.row + out_column;
  settle(q);
  settle(k);
  settle(v);
  settle(to);
#if EARLY_START
  if (lane == 0 && warp < 4) {  // row 0's translations are the others', too
    const int64_t row = Share<S::DS>::row();
    prefetch_page(warp == 0   ? q - row * p.sq.row
                  : warp == 1 ? k - row * p.sk.row
                  : warp == 2 ? v - row * p.sv.row
                              : to - out_row * p.so.row - out_column);
  }
  griddepcontrol_wait();
#endif
  load_slice<S::BM, S::DS, S::k_line>(base + S::k_q * 4, q, p.sq.row, 0, p.seq_q - first_query,
                                      own_dim);
  load_slice<S::BK, S::DS, S::k_line>(base + S::k_k * 4, k, p.sk.row, 0, p.seq_kv, own_dim);
  cp_async_commit_group();
  __syncthreads();
  barrier_cluster_arrive();  // this block's barriers are ready for the peers' pushes
  bool peers_ready = false;

  float m = -INFINITY, l[2] = {0.0f, 0.0f};  // m of row `own_row`, l of out_row and out_row + 8
  const int own_row = warp % S::k_own, first_rank = warp / S::k_own * S::k_row_ranks;
  const int row = rank * S::k_own + own_row;
  float o[S::k_columns / 8][4];
  clear(o);

  for (int block = 0; block < blocks; ++block) {
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(score_barrier, S::BM * S::BK * 4);
      mbarrier_arrive_expect_tx(prob_barrier, S::BM * (S::BK * 4 + (block > 0 ? 8 : 0)));
    }
    if (block == 0) {  // V is asked for when Q and K have come: it would delay them
      cp_async_wait_group<0>();
      __syncthreads();
      load_slice<S::BK, S::DS, S::k_v_line>(base + S::k_v * 4, v, p.sv.row, 0, p.seq_kv, own_dim_v);
      cp_async_commit_group();
    } else {
      cp_async_wait_group<1>();
      __syncthreads();  // this block's K has landed
    }
    {
      float s[S::BK / 8][4];
      partial_scores<S>(s, base + S::k_q * 4, base + S::k_k * 4, part, lane);
      __syncthreads();  // K's readers are done: the scores overlay it
      stage_scores<S>(smem + S::k_k, s, part, lane);
      __syncthreads();
    }
    if (!peers_ready) {
      barrier_cluster_wait();
      peers_ready = true;
    }
    // Two buffers in turn: a peer that has its probabilities goes on to the next step while another
    // warp of the row still adds this one's scores.
    const int recv_s = S::k_recv_s + block % 2 * (S::BM * S::BK);
    push_scores<S>(smem + S::k_k, base + recv_s * 4, score_barrier, rank);
    __syncthreads();  // the staged scores are read: the next K may land on them
    if (block + 1 < blocks) {
      load_slice<S::BK, S::DS, S::k_line>(base + S::k_k * 4, k, p.sk.row, (block + 1) * S::BK,
                                          p.seq_kv, own_dim);
    }
    cp_async_commit_group();
    mbarrier_wait_parity_cluster(score_barrier, block & 1);
    const int limit = min(p.seq_kv - 1, first_query + row + p.causal_offset);
    own_softmax<S>(smem + recv_s, base + S::k_recv_p * 4, base + S::k_recv_factor * 4, prob_barrier,
                   m, row, own_row, first_rank, limit + 1 - block * S::BK, block > 0, p.scale,
                   lane);
    if (lane == 0 && first_rank == 0) smem[S::k_own_top + own_row] = m;
    cp_async_wait_group<1>();
    mbarrier_wait_parity_cluster(prob_barrier, block & 1);
    __syncthreads();  // V has landed for every thread
    if (part.any) {
      accumulate<S>(o, l, base + S::k_recv_p * 4,
                    reinterpret_cast<const float2*>(smem + S::k_recv_factor), smem + S::k_v, part,
                    lane);
    }
    if (block + 1 < blocks) {
      __syncthreads();  // V's and P's readers are done
      load_slice<S::BK, S::DS, S::k_v_line>(base + S::k_v * 4, v, p.sv.row, (block + 1) * S::BK,
                                            p.seq_kv, own_dim_v);
    }
    cp_async_commit_group();
  }
  if (!peers_ready) barrier_cluster_wait();
  cp_async_wait_group<0>();

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int own = out_row + 8 * half;
    if (!part.any || first_query + own >= p.seq_q) continue;
    const float inverse = l[half] > 0.0f ? __fdividef(1.0f, l[half]) : 0.0f;  // no key: zeros
    store_row<S>(to + half * (8 * p.so.row), o, half, inverse, p.dim_v - out_column);
    if (p.lse != nullptr && part.part == 0 && lane % 4 == 0 && own / S::k_own == rank) {
      p.lse[int64_t(blockIdx.z) * p.seq_q + first_query + own] =
          l[half] > 0.0f ? smem[S::k_own_top + own % S::k_own] + logf(l[half]) : -INFINITY;
    }
  }
}

}  // namespace
