// SPDX-License-Identifier: MIT
// What a block of sm80_tiled_flash does with a tile of keys: loading, Q K^T, the running softmax,
// P V. A warp has rows of its own and shares the tile with the other warps; of the scores a lane
// has every 32nd key, of O every 32nd column (with VECTOR_LOADS as many neighbours). Included by
// kernel.cu, which has the parameters.
#pragma once

#include "cuda/scalar_launches.cuh"
#include "sm80/cp_async.cuh"

#include <type_traits>

namespace wb::gpu {

inline constexpr int k_threads = 32 * WARPS;
inline constexpr int k_warp_rows = QUERIES / WARPS;
inline constexpr int k_lane_keys = TILE_KEYS / 32;
inline constexpr int k_stages = ASYNC_COPY ? 2 : 1;  // tiles that shared memory has room for
static_assert(QUERIES % WARPS == 0 && TILE_KEYS % 32 == 0);
static_assert(!ASYNC_COPY || VECTOR_LOADS, "cp.async copies 16 bytes");

// Shared memory of head dims up to Dim: Q and the weights as floats, the stages of K and V as they
// are in memory.
template <typename T_, int Dim>
struct Shape {
  using T = T_;
  static constexpr int k_dim = Dim;
  static constexpr int k_piece = VECTOR_LOADS ? 16 / int(sizeof(T)) : 1;  // elements loaded at once
  static constexpr int k_weights = VECTOR_LOADS ? 4 : 1;                  // the same of weights
  static constexpr int k_columns = Dim / 32;                              // of O, a lane's
  static constexpr int k_pitch = Dim + PADDING / int(sizeof(T));          // of K and V
  static constexpr int k_tile = TILE_KEYS * k_pitch;
  static constexpr int k_floats = QUERIES * (Dim + TILE_KEYS);
  static constexpr int k_bytes =
      k_floats * int(sizeof(float)) + k_stages * 2 * k_tile * int(sizeof(T));
  static_assert(PADDING % (VECTOR_LOADS ? 16 : int(sizeof(T))) == 0, "pieces stay aligned");

  static __device__ float* q(int row) { return scalar_smem + row * Dim; }
  static __device__ float* weights(int row) {
    return scalar_smem + QUERIES * Dim + row * TILE_KEYS;
  }
  static __device__ T* k(int stage) {
    return reinterpret_cast<T*>(scalar_smem + k_floats) + stage * 2 * k_tile;
  }
  static __device__ T* v(int stage) { return k(stage) + k_tile; }
};

// N elements that one instruction moves, or two where they are more than 16 bytes.
template <typename T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Piece {
  T at[N];
};

template <int N, typename T>
__device__ __forceinline__ void read(float (&to)[N], const T* from) {
  const Piece<T, N> piece = *reinterpret_cast<const Piece<T, N>*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = float(piece.at[i]);
}

// Rows first to first + Rows of a [S, D] matrix, N elements at a time; what lies outside is zero.
template <int Rows, int Dim, int N, typename T, typename To>
__device__ __forceinline__ void load_pieces(To* tile, int pitch, const T* from, int64_t stride,
                                            int first, int limit, int dim) {
  constexpr int under_way = N > 1 ? 2 : 4;  // loads, before the first is stored
#pragma unroll under_way
  for (int e = int(threadIdx.x); e < Rows * (Dim / N); e += k_threads) {
    const int row = e / (Dim / N), d = e % (Dim / N) * N;
    const bool inside = first + row < limit && d < dim;
    const T* source = inside ? from + (first + row) * stride + d : from;
    To* target = tile + row * pitch + d;
    if constexpr (ASYNC_COPY && N > 1 && std::is_same_v<T, To>) {
      cp_async_cg_zfill(static_cast<uint32_t>(__cvta_generic_to_shared(target)), source, inside);
    } else {
      Piece<T, N> piece = {};
      if (inside) piece = *reinterpret_cast<const Piece<T, N>*>(source);
      Piece<To, N> converted;
#pragma unroll
      for (int i = 0; i < N; ++i) converted.at[i] = To(piece.at[i]);
      *reinterpret_cast<Piece<To, N>*>(target) = converted;
    }
  }
}

// aligned: whether every row of the problem is made of whole pieces.
template <class S, int Rows, typename To>
__device__ __forceinline__ void load_rows(To* tile, int pitch, const typename S::T* from,
                                          int64_t stride, int first, int limit, int dim,
                                          bool aligned) {
  if (S::k_piece > 1 && aligned) {
    load_pieces<Rows, S::k_dim, S::k_piece>(tile, pitch, from, stride, first, limit, dim);
  } else {
    load_pieces<Rows, S::k_dim, 1>(tile, pitch, from, stride, first, limit, dim);
  }
}

// A warp's rows.
template <class S>
struct Rows {
  int in_block, first, lane;   // the first of them in the block, and in the head; this lane
  float maximum[k_warp_rows];  // of the softmax so far
  float sum[k_warp_rows];      // likewise, of this lane's keys
  float acc[k_warp_rows][S::k_columns];
};

template <class S>
__device__ void init_rows(Rows<S>& w, int first_row) {
  w.in_block = int(threadIdx.x) / 32 * k_warp_rows;
  w.first = first_row + w.in_block;
  w.lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int r = 0; r < k_warp_rows; ++r) {
    w.maximum[r] = -INFINITY;
    w.sum[r] = 0.0f;
#pragma unroll
    for (int c = 0; c < S::k_columns; ++c) w.acc[r][c] = 0.0f;
  }
}

template <class S>
__device__ int column(int lane, int c) {
  return VECTOR_LOADS ? lane * S::k_columns + c : lane + 32 * c;
}

// Q K^T of the warp's rows with the keys of this lane: lane, lane + 32 and so on.
template <class S>
__device__ __forceinline__ void gemm_qk(float (&s)[k_warp_rows][k_lane_keys], const Rows<S>& w,
                                        const typename S::T* k_tile) {
#pragma unroll
  for (int r = 0; r < k_warp_rows; ++r) {
#pragma unroll
    for (int j = 0; j < k_lane_keys; ++j) s[r][j] = 0.0f;
  }
#pragma unroll 1
  for (int d = 0; d < S::k_dim; d += S::k_piece) {
    float k[k_lane_keys][S::k_piece];
#pragma unroll
    for (int j = 0; j < k_lane_keys; ++j) read(k[j], k_tile + (w.lane + 32 * j) * S::k_pitch + d);
#pragma unroll
    for (int r = 0; r < k_warp_rows; ++r) {
      float q[S::k_piece];
      read(q, S::q(w.in_block + r) + d);
#pragma unroll
      for (int j = 0; j < k_lane_keys; ++j) {
#pragma unroll
        for (int i = 0; i < S::k_piece; ++i) s[r][j] += q[i] * k[j][i];
      }
    }
  }
}

// Scores to weights, which go to shared memory, since P V needs all of a row in every lane;
// rescales what is there to the maximum that the tile brought. limit: keys from there on are not
// looked at.
template <class S>
__device__ __forceinline__ void softmax_tile(float (&s)[k_warp_rows][k_lane_keys], Rows<S>& w,
                                             const ScalarParams& p, const BlockCoord& coord,
                                             int first_key, int limit) {
  using T = typename S::T;
#pragma unroll
  for (int r = 0; r < k_warp_rows; ++r) {
    const int row = w.first + r;
    const int keys = row < p.seq_q ? min(limit, visible_keys(p, row)) : 0;
    const int64_t mask_row = row_offset(p.sm, coord.batch, coord.head, row);
    float top = w.maximum[r];
#pragma unroll
    for (int j = 0; j < k_lane_keys; ++j) {
      const int key = first_key + w.lane + 32 * j;
      s[r][j] = key < keys ? masked_score<T>(p, mask_row, key, s[r][j]) : -INFINITY;
      top = fmaxf(top, s[r][j]);
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, lanes));
    const float shift = softmax_shift(top), alpha = expf(w.maximum[r] - shift);
    w.maximum[r] = top;
    w.sum[r] *= alpha;
#pragma unroll
    for (int c = 0; c < S::k_columns; ++c) w.acc[r][c] *= alpha;
#pragma unroll
    for (int j = 0; j < k_lane_keys; ++j) {
      const float weight = expf(s[r][j] - shift);
      w.sum[r] += weight;
      S::weights(w.in_block + r)[w.lane + 32 * j] = weight;
    }
  }
}

// This lane's columns of one row of V.
template <class S>
__device__ __forceinline__ void read_columns(float (&v)[S::k_columns], const typename S::T* row,
                                             int lane) {
  if constexpr (VECTOR_LOADS) {
    read(v, row + column<S>(lane, 0));
  } else {
#pragma unroll
    for (int c = 0; c < S::k_columns; ++c) v[c] = float(row[column<S>(lane, c)]);
  }
}

// P V: this lane's columns, all keys of the tile.
template <class S>
__device__ __forceinline__ void gemm_pv(Rows<S>& w, const typename S::T* v_tile) {
#pragma unroll 1
  for (int key = 0; key < TILE_KEYS; key += S::k_weights) {
    float v[S::k_weights][S::k_columns];
#pragma unroll
    for (int i = 0; i < S::k_weights; ++i) {
      read_columns<S>(v[i], v_tile + (key + i) * S::k_pitch, w.lane);
    }
#pragma unroll
    for (int r = 0; r < k_warp_rows; ++r) {
      float weight[S::k_weights];
      read(weight, S::weights(w.in_block + r) + key);
#pragma unroll
      for (int i = 0; i < S::k_weights; ++i) {
#pragma unroll
        for (int c = 0; c < S::k_columns; ++c) w.acc[r][c] += weight[i] * v[i][c];
      }
    }
  }
}

// Sums of whole rows from those of the lanes.
template <class S>
__device__ void reduce_row_sums(Rows<S>& w) {
#pragma unroll
  for (int r = 0; r < k_warp_rows; ++r) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      w.sum[r] += __shfl_xor_sync(~0u, w.sum[r], lanes);
    }
  }
}

}  // namespace wb::gpu
