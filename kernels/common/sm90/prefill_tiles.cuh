// SPDX-License-Identifier: MIT
// Host side: which PrefillShape computes a problem. Included by sm90_wgmma_carry and
// sm90_wgmma_pingpong through prefill_plan.cuh.
//
// A kernel describes itself by a type Kernels: Pointer, the type of its kernels, and shape<B>, the
// entry of its own shape over the PrefillShape B.
#pragma once

#include "sdpa_abi.h"
#include "sm90/prefill_pipeline.cuh"

#include <algorithm>
#include <cstdint>

// Tiles of 192 rows for head dims above 64: keys a step of them without a causal rule, up to the
// head dim in the name; 0: tiles of 128 rows alone.
#ifndef KEYS_72
#define KEYS_72 0
#endif
#ifndef KEYS_80
#define KEYS_80 0
#endif
#ifndef KEYS_88
#define KEYS_88 0
#endif
#ifndef KEYS_96
#define KEYS_96 0
#endif
#ifndef CAUSAL_192  // 1: under a causal rule such tiles at head dims 72 and 88
#define CAUSAL_192 0
#endif

namespace wb::gpu {

template <class Pointer>
struct PrefillEntry {
  Pointer kernel;
  int rows, keys, threads, smem_bytes;
};

template <class S, class Pointer>
PrefillEntry<Pointer> prefill_entry(Pointer kernel) {
  return {kernel, S::k_rows, S::BN, S::k_threads, S::k_smem_bytes};
}

inline constexpr int k_tiles = 3;

template <class Kernels>
using PrefillTable = PrefillEntry<typename Kernels::Pointer>[k_tiles];

// The tiles of one kind of problem: the coarse one; a finer one, or one with more keys; one whose
// warpgroups split the keys. COLS, WGS, BN, STAGES, QB, MASKS, TRIM, SPLIT.
template <class Kernels, typename T>
void fill_masked(PrefillTable<Kernels>& table, int64_t dim) {
  if (dim <= 64) {
    table[0] = Kernels::template shape<PrefillShape<T, 64, 3, 128, 2, 2, 2>>();
    table[1] = table[2] = Kernels::template shape<PrefillShape<T, 64, 2, 128, 2, 2, 2>>();
  } else {
    table[0] = table[1] = table[2] =
        Kernels::template shape<PrefillShape<T, 128, 2, 128, 2, 2, 1>>();
  }
}

template <class Kernels, typename T, Trim TRIM>
void fill_unmasked_64(PrefillTable<Kernels>& table) {
  table[0] = Kernels::template shape<PrefillShape<T, 64, 3, 128, 4, 2, 0, TRIM>>();
  table[1] = Kernels::template shape<PrefillShape<T, 64, 2, 128, 4, 2, 0, TRIM>>();
  table[2] = Kernels::template shape<PrefillShape<T, 64, 2, 128, 4, 2, 0, Trim::none, true>>();
}

template <class Kernels, typename T, Trim TRIM>
void fill_unmasked(PrefillTable<Kernels>& table, int64_t dim) {
  if (dim <= 64) {
    fill_unmasked_64<Kernels, T, TRIM>(table);
  } else if (dim <= 80) {
    table[0] = table[1] = table[2] =
        Kernels::template shape<PrefillShape<T, 80, 2, 128, 2, 2, 0, TRIM>>();
  } else if (dim <= 96) {
    table[0] = table[1] = table[2] =
        Kernels::template shape<PrefillShape<T, 96, 2, 128, 2, 2, 0, TRIM>>();
  } else if (dim <= 128) {
    table[0] = table[1] = Kernels::template shape<PrefillShape<T, 128, 2, 128, 2, 2, 0, TRIM>>();
    if (TRIM == Trim::none) table[1] = Kernels::template shape<PrefillShape<T, 128, 2, 160, 2>>();
    table[2] = Kernels::template shape<PrefillShape<T, 128, 2, 128, 2, 2, 0, Trim::none, true>>();
  } else if (dim <= 160) {
    table[0] = table[1] = table[2] =
        Kernels::template shape<PrefillShape<T, 160, 2, 112, 2, 1, 0, TRIM>>();
  } else if (dim <= 192) {
    table[0] = table[1] = table[2] =
        Kernels::template shape<PrefillShape<T, 192, 2, 112, 2, 1, 0, TRIM>>();
  } else {
    table[0] = table[1] = table[2] =
        Kernels::template shape<PrefillShape<T, 256, 2, 80, 2, 1, 0, TRIM>>();
  }
}

// A coarse tile of 192 rows for 65 to 96 columns: K and V are read from the L2 two thirds as often
// as by tiles of 128.
template <class Kernels, typename T, int COLS, int KEYS, Trim TRIM = Trim::rows>
void set_coarse(PrefillTable<Kernels>& table) {
  if constexpr (KEYS > 0) {
    constexpr int stages = KEYS <= 80 ? 3 : 2;
    table[0] = Kernels::template shape<PrefillShape<T, COLS, 3, KEYS, stages, 2, 0, TRIM>>();
  }
}

template <class Kernels, typename T>
void set_coarse_of(PrefillTable<Kernels>& table, int64_t dim) {
  if (dim <= 64 || dim > 96) return;
  if (dim <= 72) return set_coarse<Kernels, T, 72, KEYS_72>(table);
  if (dim <= 80) return set_coarse<Kernels, T, 80, KEYS_80>(table);
  if (dim <= 88) return set_coarse<Kernels, T, 88, KEYS_88>(table);
  set_coarse<Kernels, T, 96, KEYS_96>(table);
}

// Under a causal rule warpgroups of such a tile end up to two steps apart, which takes a third
// stage. It gains where rows are odd multiples of 16 bytes.
template <class Kernels, typename T>
void set_causal_coarse_of(PrefillTable<Kernels>& table, int64_t dim) {
  constexpr int keys = CAUSAL_192 ? 80 : 0;
  if (dim == 72) set_coarse<Kernels, T, 72, keys, Trim::causal>(table);
  if (dim == 88) set_coarse<Kernels, T, 88, keys, Trim::causal>(table);
}

// TrimCausal: each warpgroup ends at its own last key under a causal rule, and takes no part in
// tiles where it has no query. Above 64 columns, with two warpgroups a tile, the latter is rare:
// with three, S 512 and 1024 have 9 and 18 places of 64 rows for 8 and 16.
template <class Kernels, typename T, bool TrimCausal>
void fill_tiles(PrefillTable<Kernels>& table, const wb_sdpa_problem& p) {
  const int64_t dim = std::max(p.dim, p.dim_v);
  if (p.mask != WB_MASK_NONE) return fill_masked<Kernels, T>(table, dim);
  if (TrimCausal && p.causal != WB_CAUSAL_NONE) {
    fill_unmasked<Kernels, T, Trim::causal>(table, dim);
    return set_causal_coarse_of<Kernels, T>(table, dim);
  }
  if (TrimCausal && dim <= 64) return fill_unmasked_64<Kernels, T, Trim::rows>(table);
  fill_unmasked<Kernels, T, Trim::none>(table, dim);
  if (TrimCausal && p.causal == WB_CAUSAL_NONE) set_coarse_of<Kernels, T>(table, dim);
}

// What a row of the fine tile costs, a row of the coarse one being 100: 15 % more, or 5 % under a
// causal rule, where the coarse one masks more; above 64 columns, where it is of 192 rows, 10 %
// more, or 25 % where rows of K and V are odd multiples of 16 bytes, so that every other one
// begins within a sector of the L2.
template <class Kernels>
int fine_percent(const PrefillTable<Kernels>& table, const wb_sdpa_problem& p) {
  const int64_t dim = std::max(p.dim, p.dim_v);
  if (dim > 64 && table[0].rows > table[1].rows) return dim % 16 != 0 ? 125 : 110;
  return p.causal == WB_CAUSAL_NONE ? 115 : 105;
}

// The tile whose rounds over the device cost less. A row of the split tile costs 25 % more than of
// the coarse one. Under a causal rule a grid of one round lasts as long as its longest tile, while
// split tiles, longest first, share the device evenly (up to 64 columns; at 128 they were slower).
// Of tiles that differ in keys the one with more costs 3 % less a key. Measured in docs/kernels.md.
// TileIndex: the tile to take; -1 chooses.
template <class Kernels, int TileIndex>
int choose_tile(const PrefillTable<Kernels>& table, const wb_sdpa_problem& p, int sm_count) {
  if constexpr (TileIndex >= 0) {
    return std::min(TileIndex, k_tiles - 1);
  } else {
    const auto tiles_of_a_head = [&](int i) {
      return (p.seq_q + table[i].rows - 1) / table[i].rows;
    };
    const auto rounds = [&](int i) {
      return (p.batch * p.heads_q * tiles_of_a_head(i) + sm_count - 1) / sm_count;
    };
    const auto cost = [&](int i, int percent) { return rounds(i) * table[i].rows * percent; };
    const auto rounded = [](int64_t n, int64_t to) { return (n + to - 1) / to * to; };
    const int64_t keys[2] = {rounded(p.seq_kv, table[0].keys), rounded(p.seq_kv, table[1].keys)};
    const bool by_keys = table[0].rows == table[1].rows && table[0].keys < table[1].keys;
    const int percent = by_keys ? 100 : fine_percent<Kernels>(table, p);
    const bool second = by_keys ? keys[1] * 97 < keys[0] * 100 : cost(1, percent) < cost(0, 100);
    const int64_t least = second ? cost(1, percent) : cost(0, 100);
    int64_t split = cost(2, 125);
    const bool triangle =
        p.causal != WB_CAUSAL_NONE && p.seq_q == p.seq_kv && p.mask == WB_MASK_NONE;
    if (triangle && std::max(p.dim, p.dim_v) <= 64 && rounds(int(second)) == 1) {
      const int64_t tiles = tiles_of_a_head(2), one = table[2].rows * 125;
      split = std::max(one, p.batch * p.heads_q * (tiles + 1) * one / (2 * sm_count));
    }
    return split < least ? 2 : int(second);
  }
}

}  // namespace wb::gpu
