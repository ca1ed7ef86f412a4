// SPDX-License-Identifier: MIT
// Rows out of a block of sm80_tiled_flash: to O where the block had all of their keys, else to the
// workspace, from where the parts are added up. Included by kernel.cu.
#pragma once

#include "tile.cuh"

namespace wb::gpu {

// How the problem is split, and the workspace: a ticket for each row block, and of each row and
// part its maximum, its sum and dim_v columns.
struct KeySplit {
  int row_blocks, parts, part_keys;  // of a head; of its keys; keys of a part
  int items;                         // row blocks of all heads, times parts
  bool aligned;                      // see load_rows
  unsigned* tickets;
  float* partials;
};

// index: of a row block, in the order of batch, head, rows.
__device__ inline BlockCoord item_coord(const ScalarParams& p, const KeySplit& split, int index) {
  const int head = index / split.row_blocks;
  BlockCoord coord;
  coord.part = index % split.row_blocks;
  coord.batch = head / p.heads_q;
  coord.head = head % p.heads_q;
  coord.head_kv = coord.head / p.group;
  return coord;
}

inline constexpr int k_statistics = 2;  // floats before a partial's columns

__device__ inline float* partial_of(const ScalarParams& p, const KeySplit& split,
                                    const BlockCoord& coord, int part, int row) {
  const int64_t head = int64_t(coord.batch) * p.heads_q + coord.head;
  return split.partials + ((head * split.parts + part) * p.seq_q + row) * (p.dim_v + k_statistics);
}

template <class S>
__device__ void store_row(const ScalarParams& p, const BlockCoord& coord, int row, int lane,
                          float maximum, float sum, const float (&acc)[S::k_columns]) {
  using T = typename S::T;
  T* out = static_cast<T*>(p.out) + row_offset(p.so, coord.batch, coord.head, row);
#pragma unroll
  for (int c = 0; c < S::k_columns; ++c) {
    const int d = column<S>(lane, c);
    if (d < p.dim_v) out[d] = normalized<T>(acc[c], sum);
  }
  if (lane == 0) store_lse(p, coord.batch, coord.head, row, maximum, sum);
}

template <class S>
__device__ void store_partial(const ScalarParams& p, float* partial, int lane, float maximum,
                              float sum, const float (&acc)[S::k_columns]) {
  if (lane == 0) {
    partial[0] = maximum;
    partial[1] = sum;
  }
#pragma unroll
  for (int c = 0; c < S::k_columns; ++c) {
    const int d = column<S>(lane, c);
    if (d < p.dim_v) partial[k_statistics + d] = acc[c];
  }
}

template <class S>
__device__ void store_rows(const ScalarParams& p, const KeySplit& split, const BlockCoord& coord,
                           int part, const Rows<S>& w) {
#pragma unroll
  for (int r = 0; r < k_warp_rows; ++r) {
    const int row = w.first + r;
    if (row >= p.seq_q) continue;
    if (split.parts == 1) {
      store_row<S>(p, coord, row, w.lane, w.maximum[r], w.sum[r], w.acc[r]);
    } else {
      store_partial<S>(p, partial_of(p, split, coord, part, row), w.lane, w.maximum[r], w.sum[r],
                       w.acc[r]);
    }
  }
}

// Adds up the parts of a row block, in their order whoever was done first. A row a warp.
template <class S>
__device__ void merge_parts(const ScalarParams& p, const KeySplit& split, const BlockCoord& coord,
                            int first_row) {
  const int lane = int(threadIdx.x) % 32;
  const int last = min(first_row + QUERIES, p.seq_q);
  for (int row = first_row + int(threadIdx.x) / 32; row < last; row += WARPS) {
    float maximum = -INFINITY, sum = 0.0f, acc[S::k_columns] = {};
    for (int part = 0; part < split.parts; ++part) {
      maximum = fmaxf(maximum, partial_of(p, split, coord, part, row)[0]);
    }
    const float shift = softmax_shift(maximum);
    for (int part = 0; part < split.parts; ++part) {
      const float* partial = partial_of(p, split, coord, part, row);
      const float alpha = expf(partial[0] - shift);
      sum += alpha * partial[1];
#pragma unroll
      for (int c = 0; c < S::k_columns; ++c) {
        const int d = column<S>(lane, c);
        if (d < p.dim_v) acc[c] += alpha * partial[k_statistics + d];
      }
    }
    store_row<S>(p, coord, row, lane, maximum, sum, acc);
  }
}

// Whether all other parts of the row block are in the workspace: true in the last block of them.
__device__ inline bool is_last_part(const KeySplit& split, unsigned* ticket) {
  __threadfence();  // this thread's rows, before the count
  __syncthreads();
  const bool last = threadIdx.x == 0 && atomicAdd(ticket, 1u) + 1 == unsigned(split.parts);
  if (!__syncthreads_or(last)) return false;
  if (threadIdx.x == 0) *ticket = 0;  // for the next call
  __threadfence();                    // the other blocks' rows, after the count
  return true;
}

}  // namespace wb::gpu
