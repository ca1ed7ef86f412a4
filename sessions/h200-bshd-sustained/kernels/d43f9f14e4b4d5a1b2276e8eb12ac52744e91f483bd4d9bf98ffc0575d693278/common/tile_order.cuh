// SPDX-License-Identifier: MIT
// Which rows of which head the n-th tile of a prefill kernel holds, and how many steps of keys it
// takes.
#pragma once

namespace wb::gpu {

struct Tile {
  int batch, head, head_kv, first_row, steps;
};

// Tiles are numbered section by section; within a section row blocks with more keys come first.
// P: section_heads, row_blocks, heads, heads_q, group, seq_q, seq_kv, causal_offset.
template <class S, class P>
__device__ __forceinline__ Tile tile_at(const P& p, int index) {
  const int section = index / (p.section_heads * p.row_blocks);
  const int first_head = section * p.section_heads;
  const int heads_here = min(p.section_heads, p.heads - first_head);
  const int rest = index - first_head * p.row_blocks;
  const int head = first_head + rest % heads_here;
  Tile t;
  t.first_row = (p.row_blocks - 1 - rest / heads_here) * S::k_rows;
  t.batch = head / p.heads_q;
  t.head = head % p.heads_q;
  t.head_kv = t.head / p.group;
  const int last_query = min(t.first_row + S::k_rows, p.seq_q) - 1;
  const int keys = max(0, min(p.seq_kv, last_query + p.causal_offset + 1));
  t.steps = (keys + S::BN - 1) / S::BN;
  return t;
}

}  // namespace wb::gpu
