// SPDX-License-Identifier: MIT
// The device part of sm90_cluster_large_hdim: the exchange between the blocks of a cluster and the
// kernel. Idea and host part: kernel.cu, its only user.
#pragma once

#include "products.cuh"
#include "sm90/cluster.cuh"
#include "sm90/griddepcontrol.cuh"
#include "sm90/mbarrier.cuh"

#include <cmath>
#include <cstdint>

#ifndef EARLY_START  // 1: start while the previous kernel drains
#define EARLY_START 1
#endif
namespace {

using namespace wb::gpu;

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

// What a block keeps of a row whose softmax it computes; every warp of the row has the same.
struct RowState {
  float m = -INFINITY, l = 0.0f;
};

// A row as one of its warps sees it: it serves the blocks from first_rank on, the row's other warps
// the others.
struct OwnRow {
  int row, own, first_rank;
  template <class S>
  static __device__ __forceinline__ OwnRow of(int warp, int rank) {
    const int own = warp % S::k_own;
    return {rank * S::k_own + own, own, warp / S::k_own * S::k_row_ranks};
  }
};

// Adds the blocks' scores of an owned row, advances its state and sends the probabilities and, from
// the second step on, the factor for O. A lane has the keys 2 lane and 2 lane + 1. Behind the last
// step the inverse of the sum follows, while P V is under way.
template <class S>
__device__ __forceinline__ void own_softmax(const float* recv_s, uint32_t base, uint32_t barrier,
                                            uint32_t last_barrier, RowState& r, const OwnRow& mine,
                                            int key_count, bool later, bool last, float scale,
                                            int lane) {
  if (2 * lane >= S::BK) return;
  float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll
  for (int rank = 0; rank < S::RANKS; ++rank) {
    const float2 x =
        *reinterpret_cast<const float2*>(recv_s + (rank * S::k_own + mine.own) * S::BK + 2 * lane);
    sum.x += x.x;
    sum.y += x.y;
  }
  const float2 s = make_float2(2 * lane < key_count ? sum.x * scale : -INFINITY,
                               2 * lane + 1 < key_count ? sum.y * scale : -INFINITY);
  constexpr uint32_t lanes = S::BK == 64 ? ~0u : (1u << S::BK / 2) - 1;
  float top = fmaxf(r.m, fmaxf(s.x, s.y));
#pragma unroll
  for (int step = S::BK / 4; step > 0; step /= 2) {
    top = fmaxf(top, __shfl_xor_sync(lanes, top, step));
  }
  const float shift = top == -INFINITY ? 0.0f : top;  // no key seen yet
  // Subtract before scaling to log2 units: the difference is exact where it matters most.
  const float2 prob = make_float2(exp2f((s.x - shift) * k_log2_e), exp2f((s.y - shift) * k_log2_e));
  const uint32_t prob_at = base + (S::k_recv_p + mine.row * S::k_p_line + 2 * lane) * 4;
#pragma unroll
  for (int i = 0; i < S::k_row_ranks; ++i) {
    const int to = mine.first_rank + i;
    st_async_v2(mapa(prob_at, to), prob, mapa(barrier, to));
  }
  const float factor = exp2f((r.m - shift) * k_log2_e);
  const int to = mine.first_rank + lane;
  if (later && lane < S::k_row_ranks) {
    st_async_v2(mapa(base + (S::k_recv_factor + 2 * mine.row) * 4, to), make_float2(factor, factor),
                mapa(barrier, to));
  }
  float l = prob.x + prob.y;
#pragma unroll
  for (int step = S::BK / 4; step > 0; step /= 2) l += __shfl_xor_sync(lanes, l, step);
  r.l = fmaf(r.l, factor, l);
  r.m = top;
  if (last && lane < S::k_row_ranks) {
    const float inverse = r.l > 0.0f ? __fdividef(1.0f, r.l) : 0.0f;  // no key: zeros
    st_async_v2(mapa(base + (S::k_recv_inverse + 2 * mine.row) * 4, to),
                make_float2(inverse, inverse), mapa(last_barrier, to));
  }
}

template <class S>
__global__ void __launch_bounds__(k_threads, S::k_alone ? 1 : 2) large_hdim(const Params p) {
  extern __shared__ __align__(1024) float smem[];  // the swizzle needs 1024
  const uint32_t base = smem_address(smem);
  const uint32_t score_barrier = base + S::k_barriers * 4, prob_barrier = score_barrier + 8;
  const uint32_t last_barrier = score_barrier + 16;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int rank = cluster_ctarank();
  const int first_query = blockIdx.y * S::BM;
  const int batch = blockIdx.z / p.heads_q, head = blockIdx.z % p.heads_q;
  const int head_kv = head / p.group;
  const int column = rank * S::DS;
  using RunShare = Share<S::k_team, S::k_run>;
  using SliceShare = Share<k_threads, S::DS>;
  const KeyPart<S> key_part(warp);
  const OutPart<S> out_part(warp);
  const int own_dim = p.dim - column - key_part.column, own_dim_v = p.dim_v - column;
  // This thread's unit of the first row; a block without columns keeps to the tensor's start.
  const auto mine = [&](const float* tensor, const wb_strides& s, int h, int row, int d, int dim) {
    return tensor + batch * s.batch + h * s.head + row * s.row + (d < dim ? d : 0);
  };
  const int run_column = column + key_part.column + RunShare::unit() * 4;
  const float* q = mine(p.q, p.sq, head, RunShare::row(), run_column, p.dim);
  const float* k = mine(p.k, p.sk, head_kv, RunShare::row(), run_column, p.dim);
  const float* v =
      mine(p.v, p.sv, head_kv, SliceShare::row(), column + SliceShare::unit() * 4, p.dim_v);
  q += first_query * p.sq.row;

  const int last_query = min(first_query + S::BM, p.seq_q) - 1;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  const int blocks = (keys + S::BK - 1) / S::BK;

  if (threadIdx.x == 0) {
    mbarrier_init(score_barrier, 1);
    mbarrier_init(prob_barrier, 1);
    mbarrier_init(last_barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(last_barrier, S::BM * 8);
  }
  if (threadIdx.x < 2 * S::BM) smem[S::k_recv_factor + threadIdx.x] = 0.0f;
  __syncthreads();
  barrier_cluster_arrive_relaxed();  // this block's barriers are ready for the peers' pushes
#if EARLY_START
  griddepcontrol_launch_dependents();
#endif
  const int out_row = first_query + out_part.row + lane % 4 * 2;
  const int out_column = column + out_part.column + lane / 4 * (2 * OutPart<S>::together);
  float* to =
      p.out + batch * p.so.batch + head * p.so.head + int64_t(out_row) * p.so.row + out_column;
  compute_before_wait(q);
  compute_before_wait(k);
  compute_before_wait(v);
  compute_before_wait(to);
#if EARLY_START
  if (lane == 0 && warp < 4) {  // row 0's translations are the others', too
    prefetch_page(warp == 0   ? q - RunShare::row() * p.sq.row
                  : warp == 1 ? k - RunShare::row() * p.sk.row
                  : warp == 2 ? v - SliceShare::row() * p.sv.row
                              : p.out + batch * p.so.batch + head * p.so.head);
  }
  griddepcontrol_wait();
#endif
  const auto load_k = [&](int block, int run) {
    load_slice<S::BK, RunShare, Lines<S::k_line>>(base + (S::k_k + key_part.column) * 4, k,
                                                  p.sk.row, block * S::BK, p.seq_kv, own_dim,
                                                  run * S::k_run);
  };
  const auto load_v = [&](int block) {
    load_slice<S::BK, SliceShare, Lines<S::k_v_line>>(base + S::k_v * 4, v, p.sv.row, block * S::BK,
                                                      p.seq_kv, own_dim_v);
  };
#pragma unroll
  for (int run = 0; run < S::k_runs; ++run) {
    if (key_part.any) {
      load_slice<S::BM, RunShare, QueryLayout<S>>(
          base + S::k_q * 4 + QueryLayout<S>::right(key_part.column), q, p.sq.row, 0,
          p.seq_q - first_query, own_dim, run * S::k_run);
      load_k(0, run);
    }
    cp_async_commit_group();
  }
  barrier_cluster_wait();

  const bool owner = rank < S::k_owners;
  const OwnRow own = OwnRow::of<S>(warp, rank);
  RowState r;
  float o[S::k_out_tiles][S::k_out_rows / 8][4];
#pragma unroll
  for (int i = 0; i < S::k_out_tiles; ++i) clear(o[i]);

  for (int block = 0; block < blocks; ++block) {
    if (threadIdx.x == 0) {
      if (owner) mbarrier_arrive_expect_tx(score_barrier, S::k_recv_s_floats * 4);
      mbarrier_arrive_expect_tx(prob_barrier, S::BM * (S::BK * 4 + (block > 0 ? 8 : 0)));
    }
    {
      float s[S::BM / 8][4];
      partial_scores<S>(s, smem, base, key_part, block == 0, lane, [&] {
        if (block > 0) return;
        load_v(0);  // asked for when Q and K have come: it would delay them
        cp_async_commit_group();
      });
      if constexpr (S::k_overlay) __syncthreads();  // K's readers are done
      stage_scores<S>(smem + S::k_scores, s, key_part, lane);
      __syncthreads();
    }
    // Two buffers in turn: a peer that has its probabilities goes on to the next step while another
    // warp of the row still adds this one's scores.
    const int recv_s = S::k_recv_s + block % 2 * S::k_recv_s_floats;
    push_scores<S>(smem + S::k_scores, base + recv_s * 4, score_barrier, rank);
    if (block + 1 < blocks) {
      __syncthreads();  // the staged scores are read: the next K and the next scores may come
#pragma unroll
      for (int run = 0; run < S::k_runs; ++run) {
        if (key_part.any) load_k(block + 1, run);
      }
    }
    cp_async_commit_group();
    if (owner) {
      mbarrier_wait_parity(score_barrier, block & 1);
      const int limit = min(p.seq_kv - 1, first_query + own.row + p.causal_offset);
      own_softmax<S>(smem + recv_s, base, prob_barrier, last_barrier, r, own,
                     limit + 1 - block * S::BK, block > 0, block + 1 == blocks, p.scale, lane);
    }
    cp_async_wait_group<1>();
    mbarrier_wait_parity(prob_barrier, block & 1);
    if constexpr (S::k_warpgroups) split_probabilities<S>(smem);
    __syncthreads();  // V has landed for every thread
    if (out_part.any) gemm_pv<S>(o, smem, base, out_part, lane);
    if (block + 1 < blocks) {
      __syncthreads();  // V's and P's readers are done
      load_v(block + 1);
    }
    cp_async_commit_group();
  }
  cp_async_wait_group<0>();

  if (blocks > 0) mbarrier_wait_parity(last_barrier, 0);
  if (out_part.any) {
    const float2* inverses = reinterpret_cast<const float2*>(smem + S::k_recv_inverse);
    store_out<S>(to, p.so.row, o, inverses + out_part.row + lane % 4 * 2, p.seq_q - out_row,
                 p.dim_v - out_column, blocks > 0);
  }
  if (p.lse != nullptr && owner && own.first_rank == 0 && lane == 0 &&
      first_query + own.row < p.seq_q) {
    p.lse[int64_t(blockIdx.z) * p.seq_q + first_query + own.row] =
        r.l > 0.0f ? r.m + logf(r.l) : -INFINITY;
  }
}

}  // namespace
