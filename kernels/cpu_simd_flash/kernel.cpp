// SPDX-License-Identifier: MIT
// cpu_simd_flash: query rows in vector lanes, register blocks, vector width chosen at run time.
//
// Worklog
//   idea      S^T = K Q^T and O^T = V^T P^T with query rows in the lanes: elements of K and V are
//             broadcast from where they lie, Q is transposed once a tile, softmax is vertical
//   parent    cpu_tiled
//   changed   no transposition of K, none of P; register blocks of the hardware's size for AVX-512,
//             AVX2 and 128-bit vectors in one file; exponentials in base 2; rows of a group of
//             heads share one tile (i-major, so that a causal tile stays narrow)
//   costs     lanes are wasted when a key/value head has few query rows (decode: cpu_splitkv)
//   tried     in a bare loop, f32, S 512 and 1024, D 64 and 128: tiles of 32 to 64 rows, 64 or 128
//             keys, and blocks of 8x2, 12x2, 8x3 and 4x4 vectors lie within 6 % of each other;
//             loads of the operands had to be pinned in registers, see in_register
//   measured  2 cores of an AMD EPYC, f32, hot: 2.26 [2.02, 2.53] times as fast as cpu_tiled and
//             1.51 [1.28, 1.78] as PyTorch's SDPA at S 512 to 2048 (sessions/cpu-prefill-f32);
//             2.04 [1.78, 2.35] times as fast as cpu_tiled with 1 and 16 queries
//             (sessions/cpu-decode-f32)

#include "cpu/simd.hpp"

#ifndef TILE_M
#error "TILE_M, rows per tile, comes from the configuration"
#endif
#ifndef TILE_N
#error "TILE_N, keys per step, comes from the configuration"
#endif

namespace simd_flash {

using namespace wb_cpu;

constexpr std::int64_t k_tile_m = TILE_M;
constexpr std::int64_t k_tile_n = TILE_N;
constexpr std::int64_t k_widest = 16;          // lanes of the widest path
constexpr std::int64_t k_block_columns = 512;  // of the head dim: scores are summed up a block
static_assert(k_tile_m % k_widest == 0, "a tile is whole vectors on every path");

/// One tile of packed rows and its part of the workspace.
struct Tile {
  PackedRows packed;
  std::int64_t first_row, rows, vecs, staged_stride;
  float* q;            // [D, TILE_M], scaled by scale * log2(e)
  float* scores;       // [TILE_N, TILE_M], then the weights
  float* partial;      // [TILE_N, TILE_M]: scores of one block of columns, where there are several
  float* acc;          // [Dv, TILE_M], scaled by 2^-row_max
  float* row_max;      // [TILE_M], of scores in base 2
  float* row_sum;      // [TILE_M]
  float* correction;   // [TILE_M]: what acc must be multiplied by before the next sum
  float* staged;       // [TILE_N, max(D, Dv)]: K, then V, when they need conversion
  float* rows_staged;  // [k_widest, staged_stride]: rows on their way in or out

  [[nodiscard]] QueryRow row(std::int64_t r) const { return packed.at(first_row + r); }
};

#include "cpu/simd_paths.hpp"

/// Floats of each part, in the order of Tile; every part starts on a cache line.
struct Layout {
  std::int64_t q, scores, partial, acc, per_row, staged, rows_staged, staged_stride;
  [[nodiscard]] std::int64_t total() const {
    return q + scores + partial + acc + 3 * per_row + staged + rows_staged;
  }
};

Layout layout(const wb_sdpa_problem& p) {
  const std::int64_t widest_row = max(p.dim, p.dim_v);
  // A stride that is no power of two: columns of the staged rows fall into different cache sets.
  const std::int64_t stride = round_up(max(widest_row, k_tile_n), k_widest) + k_widest;
  return {p.dim * k_tile_m,
          k_tile_n * k_tile_m,
          p.dim > k_block_columns ? k_tile_n * k_tile_m : 0,
          p.dim_v * k_tile_m,
          k_tile_m,
          round_up(k_tile_n * widest_row, k_widest),
          k_widest * stride,
          stride};
}

Simd chosen() {
  return chosen_simd("cpu_simd_flash");
}

Needs needs(const wb_sdpa_problem& p) {
  chosen();
  return {layout(p).total(), 1024};
}

std::int64_t tiles_per_head(const wb_sdpa_problem& p) {
  return (p.seq_q * (p.heads_q / p.heads_kv) + k_tile_m - 1) / k_tile_m;
}

/// Task -> tile. Later rows see more keys under a causal rule, so they come first: the last tasks
/// to finish are then short ones. With many tiles a head, heads go one after the other, so that K
/// and V of a head stay in the cache; with few, all heads' long tiles go first.
Tile make_tile(const Call& call, std::int64_t task, float* scratch) {
  const wb_sdpa_problem& p = call.problem;
  const std::int64_t tiles = tiles_per_head(p), heads = p.batch * p.heads_kv;
  const bool by_head = tiles >= 4 * call.args.threads;
  const std::int64_t head = by_head ? task / tiles : task % heads;  // b * Hkv + hkv
  const std::int64_t index = tiles - 1 - (by_head ? task % tiles : task / heads);
  const Layout parts = layout(p);
  Tile t{};
  t.packed = {head / p.heads_kv, head % p.heads_kv, p.heads_q / p.heads_kv};
  t.first_row = index * k_tile_m;
  t.rows = min(k_tile_m, p.seq_q * t.packed.group - t.first_row);
  t.staged_stride = parts.staged_stride;
  t.q = scratch;
  t.scores = t.q + parts.q;
  t.partial = t.scores + parts.scores;
  t.acc = t.partial + parts.partial;
  t.row_max = t.acc + parts.acc;
  t.row_sum = t.row_max + parts.per_row;
  t.correction = t.row_sum + parts.per_row;
  t.staged = t.correction + parts.per_row;
  t.rows_staged = t.staged + parts.staged;
  return t;
}

void forward(const Call& call) {
  const wb_sdpa_problem& p = call.problem;
  const Simd simd = chosen();
  call.parallel(p.batch * p.heads_kv * tiles_per_head(p), [&](std::int64_t task, float* scratch) {
    WB_SIMD_CALL(simd, run_tile(call, make_tile(call, task, scratch)));
  });
}

}  // namespace simd_flash

WB_CPU_KERNEL(simd_flash::needs, simd_flash::forward)
