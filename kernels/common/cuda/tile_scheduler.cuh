// SPDX-License-Identifier: MIT
// The tile scheduler of the prefill kernels: which rows of which head the n-th work tile holds, how
// many steps of keys it takes, and which tile a persistent block takes next. Included by
// prefill_pipeline.cuh and sm90_f16x3_flash.
#pragma once

#include <cstdint>

namespace wb::gpu {

struct WorkTile {
  int batch, head, head_kv, first_row, steps;
};

// Tiles are numbered section by section, so that the K and V of a section's heads stay in the L2;
// within a section row blocks with more keys come first.
// P: section_heads, row_blocks, heads, heads_q, group, seq_q, seq_kv, causal_offset.
template <class S, class P>
__device__ __forceinline__ WorkTile work_tile_at(const P& p, int index) {
  const int section = index / (p.section_heads * p.row_blocks);
  const int first_head = section * p.section_heads;
  const int heads_here = min(p.section_heads, p.heads - first_head);
  const int rest = index - first_head * p.row_blocks;
  const int head = first_head + rest % heads_here;
  WorkTile t;
  t.first_row = (p.row_blocks - 1 - rest / heads_here) * S::k_rows;
  t.batch = head / p.heads_q;
  t.head = head % p.heads_q;
  t.head_kv = t.head / p.group;
  const int last_query = min(t.first_row + S::k_rows, p.seq_q) - 1;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  t.steps = (keys + S::BN - 1) / S::BN;
  return t;
}

// A block begins with the tile of its own number and takes the others from a counter. The answer
// takes as long as the L2, so it is asked for a step before it is needed; a whole tile before,
// blocks would hold tiles that others could begin, and under a causal rule that cost up to 19 %.
// P: counter, tiles.
template <class P>
__device__ __forceinline__ int request_work(const P& p) {
  return p.counter == nullptr ? p.tiles : atomicAdd(p.counter, 1);
}

// The tile that a request's answer stands for, or p.tiles. There are as many requests as tiles: the
// last one sets the counter back for the next call.
template <class P>
__device__ __forceinline__ int requested_work(const P& p, int answer) {
  if (p.counter == nullptr) return p.tiles;
  if (answer == p.tiles - 1) *p.counter = 0;
  return int(min(int64_t(p.tiles), int64_t(answer) + gridDim.x));
}

// Both at once.
template <class P>
__device__ __forceinline__ int next_work(const P& p) {
  if (p.counter == nullptr) return p.tiles;
  const int answer = atomicAdd(p.counter, 1);
  if (answer == p.tiles - 1) *p.counter = 0;
  return int(min(int64_t(p.tiles), int64_t(answer) + gridDim.x));
}

}  // namespace wb::gpu
