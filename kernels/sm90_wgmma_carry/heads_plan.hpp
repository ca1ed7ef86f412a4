// SPDX-License-Identifier: MIT
// Host side of the schedule by heads of sm90_wgmma_carry, in plain C++ (a unit test includes it,
// too): which problems it is for, and where the blocks' runs of units are cut.
#pragma once

#include "sdpa_abi.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace wb::gpu {

// A unit of work: 64 rows of a head. Units of a head are counted from its last rows on, heads
// follow one another: unit i of head h is number h * units of a head + i.
inline constexpr int k_unit_rows = 64;
// A block each, at most; an SM each is what one wants. A kernel's parameters hold the table.
inline constexpr int k_most_cuts = 160;

struct HeadCuts {
  int blocks;
  int cuts[k_most_cuts + 1];  // block b has the units from cuts[b] to before cuts[b + 1]
};

inline int64_t units_of_a_head(const wb_sdpa_problem& p) {
  return (p.seq_q + k_unit_rows - 1) / k_unit_rows;
}

// What the kernel can schedule so: no mask, one slab of columns, all tiles of keys that the units
// read countable in an int (a block counts its own).
inline bool heads_reach(const wb_sdpa_problem& p) {
  if (p.mask != WB_MASK_NONE || std::max(p.dim, p.dim_v) > 64) return false;
  const int64_t most = 1 << 30, tiles = (p.seq_kv + 127) / 128;
  return units_of_a_head(p) * tiles <= most / (p.batch * p.heads_q);
}

// Where it is faster than tile after tile (docs/kernels.md, row 114): 64 columns, as many queries
// as keys, under a causal rule up to 1024 of them (S 256 1.16, S 512 1.24, S 1024 1.17; S 2048 1.01
// and 4096 0.99), else four tiles of keys (S 512 1.04, S 1024 0.98), and units enough for every
// warpgroup: 8 units an SM gained under a causal rule (S 256) where 4 lost (S 512, 0.97); without
// one 8 lost (0.97) and 62 gained. Between those nothing is measured.
inline bool heads_pay(const wb_sdpa_problem& p, int sm_count) {
  if (!heads_reach(p) || p.dim != 64 || p.dim_v != 64 || p.seq_q != p.seq_kv) return false;
  const bool causal = p.causal != WB_CAUSAL_NONE;
  if (p.seq_kv < (causal ? 256 : 385) || p.seq_kv > (causal ? 1024 : 512)) return false;
  const int64_t units = p.batch * p.heads_q * units_of_a_head(p);
  return units >= int64_t(causal ? 6 : 24) * sm_count;
}

// Runs of equal work, each of one unit at least: of a unit its keys in steps of 64, and what its
// beginning and end cost. causal_offset: a row keeps key <= query + offset.
inline HeadCuts cut_heads(const wb_sdpa_problem& p, int64_t causal_offset, int sm_count) {
  constexpr double k_ends = 1.2;
  const int units = int(units_of_a_head(p)), heads = int(p.batch * p.heads_q);
  std::vector<double> work(size_t(units) + 1, 0.0);  // of the units before the i-th
  for (int i = 0; i < units; ++i) {
    const int64_t last_row = std::min<int64_t>(int64_t(units - i) * k_unit_rows, p.seq_q) - 1;
    const int64_t keys = std::clamp<int64_t>(last_row + causal_offset + 1, 0, p.seq_kv);
    work[i + 1] = work[i] + double((keys + 63) / 64) + k_ends;
  }
  HeadCuts c = {};
  c.blocks = std::min({units * heads, sm_count, k_most_cuts});
  const double of_a_head = work[units];
  for (int b = 1; b < c.blocks; ++b) {
    const double want = of_a_head * heads * b / c.blocks;
    const int head = std::min(int(want / of_a_head), heads - 1);
    const double rest = want - head * of_a_head;
    int i = int(std::lower_bound(work.begin(), work.end(), rest) - work.begin());
    i = std::min(i, units);
    if (i > 0 && rest - work[i - 1] < work[i] - rest) --i;
    c.cuts[b] = std::clamp(head * units + i, c.cuts[b - 1] + 1, units * heads - (c.blocks - b));
  }
  c.cuts[c.blocks] = units * heads;
  return c;
}

}  // namespace wb::gpu
