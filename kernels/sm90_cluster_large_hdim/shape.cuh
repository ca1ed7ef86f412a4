// SPDX-License-Identifier: MIT
// The shape of a block of sm90_cluster_large_hdim, how its tiles lie in shared memory, and how they
// are loaded. Idea and host part: kernel.cu.
#pragma once

#include "sdpa_abi.h"
#include "sm80/cp_async.cuh"

#include <cstdint>

namespace wb::gpu {

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

// BM query rows, BK keys at a time, DS columns for each of the cluster's RANKS blocks. Both
// products are computed transposed, keys or columns of V by rows: a warp then has 16 keys, or
// columns of V, of its own, which it reads and splits once, and rows come in groups of 8.
template <int RANKS_, int BM_, int BK_, int DS_>
struct Shape {
  static constexpr int RANKS = RANKS_, BM = BM_, BK = BK_, DS = DS_;
  static constexpr int k_warps = k_threads / 32;
  static constexpr int k_owners = BM < RANKS ? BM : RANKS;  // blocks that keep rows' softmax,
  static constexpr int k_own = BM / k_owners;               // so many rows each
  static constexpr int k_row_warps = k_warps / k_own;       // warps that compute the same row's,
  static constexpr int k_row_ranks = RANKS / k_row_warps;   // and send it to so many blocks each
  // Four warps with 16 keys each are a warpgroup, which multiplies twice as fast; it reads Q and P
  // from shared memory, split there.
  static constexpr bool k_warpgroups = BK == 64 && BM >= 32 && (DS == 64 || DS == 128);

  // Q K^T: warps share the keys by tiles of 16, and the columns. The warps that share columns are a
  // team: they load Q and K for themselves, run by run, and multiply a run while the next one
  // comes.
  static constexpr int k_key_tiles = BK / 16;
  static constexpr int k_parts = k_warps / k_key_tiles;
  static constexpr int k_columns = DS / k_parts < 16 ? 16 : DS / k_parts;
  static constexpr int k_run = k_columns < 32 ? k_columns : 32;  // summed by the tensor cores
  static constexpr int k_runs = k_columns / k_run, k_team = 32 * k_key_tiles;
  // P V: warps share the columns by tiles of 16 and, where there are few, the rows.
  static constexpr int k_out_tiles = DS / 16 < k_warps ? 1 : DS / 16 / k_warps;  // of a warp
  static constexpr int k_out_warps = DS / 16 / k_out_tiles;  // that have the same rows
  static constexpr int k_row_parts =
      k_warps / k_out_warps < BM / 8 ? k_warps / k_out_warps : BM / 8;
  static constexpr int k_out_rows = BM / k_row_parts;
  static_assert(k_row_warps > 0 && k_row_ranks > 0 && k_columns % k_run == 0 && k_runs <= 4);

  // Floats in shared memory; the pads spread the banks.
  static constexpr int k_line = DS + 4, k_v_line = DS + 8;
  static constexpr int k_p_line = BK + 4, k_part_line = BK + 4;
  static constexpr int k_q = 0;
  static constexpr int k_q_low = k_q + (k_warpgroups ? BM * DS : 0);
  static constexpr int k_p_high = k_q_low + (k_warpgroups ? BM * DS : BM * k_line);
  static constexpr int k_p_low = k_p_high + (k_warpgroups ? BM * BK : 0);
  static constexpr int k_k = k_p_low + (k_warpgroups ? BM * BK : 0);
  static constexpr int k_part_floats = k_parts * BM * k_part_line;
  // The partial scores have a place of their own unless they then do not fit; K is done with.
  static constexpr int k_rest_floats = BK * k_v_line + (2 * k_own * RANKS + BM) * k_p_line + 4 * BM;
  static constexpr bool k_overlay =
      (k_k + BK * k_line + k_part_floats + k_rest_floats + 16) * 4 > 227 * 1024;
  static constexpr int k_scores = k_overlay ? k_k : k_k + BK * k_line;
  static constexpr int k_v = k_overlay
                                 ? k_k + (BK * k_line > k_part_floats ? BK * k_line : k_part_floats)
                                 : k_scores + k_part_floats;
  static constexpr int k_recv_s = k_v + BK * k_v_line;  // [step % 2][rank][own row][key]
  static constexpr int k_recv_s_floats = RANKS * k_own * BK;
  static constexpr int k_recv_p = k_recv_s + 2 * k_recv_s_floats;  // [row][key]
  static constexpr int k_recv_factor = k_recv_p + BM * k_p_line;   // float2 [row]: of O, twice
  static constexpr int k_recv_inverse = k_recv_factor + 2 * BM;    // float2 [row]: 1 / sum, twice
  static constexpr int k_barriers = k_recv_inverse + 2 * BM;
  // Large blocks have an SM each, and ask for so much that no second one fits: with early start the
  // next call's would pile up on some (8.8 instead of 6 us at a head dim of 4096).
  static constexpr bool k_alone = DS > 128 || BM > 16;
  static constexpr int k_needed_bytes = (k_barriers + 6) * 4;
  static constexpr int k_alone_bytes = 228 * 512 - 1024 + 16;
  static constexpr int k_smem_bytes =
      k_alone && k_needed_bytes < k_alone_bytes ? k_alone_bytes : k_needed_bytes;
  static_assert(k_smem_bytes <= 227 * 1024);
};

// Where 16-byte unit `unit` of row `row` lies, and how far off the same unit is `rows` further down
// or `columns` to the right; in bytes. In Swizzled, rows are multiples of 8 and columns of 32.
template <int Line>  // floats
struct Lines {
  static __device__ __forceinline__ int at(int row, int unit) {
    return row * (Line * 4) + unit * 16;
  }
  static __host__ __device__ constexpr int down(int rows) { return rows * (Line * 4); }
  static __host__ __device__ constexpr int right(int columns) { return columns * 4; }
};

// As wgmma reads an operand: slabs of 32 floats, 128-byte swizzle.
template <int Rows>
struct Swizzled {
  static constexpr int k_slab = Rows * 128;
  static __device__ __forceinline__ int at(int row, int unit) {
    return unit / 8 * k_slab + row * 128 + ((unit % 8 ^ row % 8) << 4);
  }
  static __host__ __device__ constexpr int down(int rows) { return rows * 128; }
  static __host__ __device__ constexpr int right(int columns) { return columns / 32 * k_slab; }
};

template <class S, bool WARPGROUPS = S::k_warpgroups>
struct QueryLayout : Lines<S::k_line> {};
template <class S>
struct QueryLayout<S, true> : Swizzled<S::BM> {};

// A thread's share of a slice of `Columns` columns that `Threads` threads load: 16-byte unit `unit`
// of row `row`, then of every row `hop` further on.
template <int Threads, int Columns>
struct Share {
  static constexpr int columns = Columns, units = Columns / 4;
  static constexpr int hop = Threads / units;
  static_assert(Threads % units == 0);
  static __device__ __forceinline__ int unit() { return threadIdx.x % Threads % units; }
  static __device__ __forceinline__ int row() { return threadIdx.x % Threads / units; }
};

// Rows [first, first + Rows) of a slice that lies `right` columns to the right of where `src` and
// `dim` count from: src is this thread's unit of row 0, of which `dim` columns exist. Slices that
// lie inside need no tests: with them the instructions, not the memory, set the pace.
template <int Rows, class Mine, class Layout>
__device__ __forceinline__ void load_slice(uint32_t smem, const float* src, int64_t stride,
                                           int first, int limit, int dim, int right = 0) {
  const int row = Mine::row(), d = Mine::unit() * 4 + right;
  const float* from = src + first * stride + right;
  const int64_t hop = Mine::hop * stride;
  const uint32_t to = smem + Layout::at(row, Mine::unit()) + Layout::right(right);
  constexpr int passes = (Rows + Mine::hop - 1) / Mine::hop;
  if (Rows < Mine::hop && row >= Rows) return;
  if (first + Rows <= limit && dim >= right + Mine::columns) {
#pragma unroll 8
    for (int i = 0; i < passes; ++i, from += hop) {
      cp_async_cg(to + i * Layout::down(Mine::hop), from);
    }
    return;
  }
#pragma unroll 4
  for (int i = 0; i < passes; ++i, from += hop) {
    const bool valid = first + row + i * Mine::hop < limit && d < dim;
    cp_async_cg_zfill(to + i * Layout::down(Mine::hop), valid ? from : src - row * stride, valid);
  }
}

}  // namespace wb::gpu
