// SPDX-License-Identifier: MIT
// cpu_splitkv: few query rows and many keys; the keys are split over threads and merged.
//
// Worklog
//   idea      decode reads every key and value once and does little with them: all threads must
//             read, even for one head, so a task is SPLIT_KEYS keys of one key/value head, for all
//             query rows that use them; a second pass merges what the tasks left in the workspace
//   parent    cpu_simd_flash
//   changed   lanes are columns of the head dim, not rows (one row would leave 15 of 16 idle); a
//             split with partial maxima, sums and rows; a merge pass
//   costs     a horizontal sum a score; parts of S / SPLIT_KEYS rows are written and read again
//   tried     sums of lanes one by one (they were most of the time), queries as operands in memory
//             (loads were the limit), SPLIT_KEYS 256 to 1024, TILE_N 32 to 128
//   measured  2 cores of an AMD EPYC, f32, 1 and 16 queries on 2048 to 16384 keys, hot: 2.16
//             [1.61, 2.92] times as fast as cpu_simd_flash, 2.30 [1.69, 3.12] as PyTorch's SDPA
//             (sessions/cpu-decode-f32)

#include <utility>

#include "cpu/simd.hpp"

#ifndef SPLIT_KEYS
#error "SPLIT_KEYS, keys per task, comes from the configuration"
#endif
#ifndef TILE_N
#error "TILE_N, keys per step, comes from the configuration"
#endif

namespace splitkv {

using namespace wb_cpu;

constexpr std::int64_t k_tile_n = TILE_N;
constexpr std::int64_t k_split_keys = SPLIT_KEYS;
constexpr std::int64_t k_widest = 16;  // lanes of the widest path; all rows are padded to it
constexpr std::int64_t k_most_rows = 16;
static_assert(k_tile_n % k_widest == 0, "steps are whole vectors on every path");
static_assert(k_split_keys % k_tile_n == 0, "a split is whole steps");

/// Keys [first_key, end_key) for up to k_most_rows packed rows, with this thread's scratch and this
/// task's part of the shared workspace. All f32; rows are padded with zeros.
struct Split {
  PackedRows packed;
  std::int64_t first_row, rows, first_key, end_key, dim_padded, dim_v_padded;
  float* q;           // scratch [rows, dim_padded], scaled by scale * log2(e)
  float* scores;      // scratch [rows, TILE_N], then the weights
  float* staged;      // scratch [TILE_N, max(dim_padded, dim_v_padded)]: K, then V, if converted
  float* bias;        // scratch [TILE_N]: a row of the mask
  float* correction;  // scratch [rows]: what acc must be multiplied by before the next sum
  float* acc;         // part [rows, dim_v_padded], scaled by 2^-row_max
  float* row_max;     // part [rows], of scores in base 2
  float* row_sum;     // part [rows]
};

#include "cpu/simd_paths.hpp"

/// How a problem is cut: `row_tiles` of up to `rows` packed rows, `splits` of keys; a task for each
/// pair of them and each key/value head. Threads have no say: results do not depend on them.
struct Cut {
  std::int64_t rows_per_head, rows, row_tiles, splits, dim_padded, dim_v_padded;

  explicit Cut(const wb_sdpa_problem& p)
      : rows_per_head(p.seq_q * (p.heads_q / p.heads_kv)),
        rows(min(k_most_rows, rows_per_head)),
        row_tiles((rows_per_head + rows - 1) / rows),
        splits((p.seq_kv + k_split_keys - 1) / k_split_keys),
        dim_padded(round_up(p.dim, k_widest)),
        dim_v_padded(round_up(p.dim_v, k_widest)) {}

  [[nodiscard]] std::int64_t tiles(const wb_sdpa_problem& p) const {
    return p.batch * p.heads_kv * row_tiles;
  }
  [[nodiscard]] std::int64_t part_floats() const {  // whole cache lines: no line has two writers
    return rows * dim_v_padded + round_up(2 * rows, k_cache_line_floats);
  }
  [[nodiscard]] std::int64_t scratch_floats() const {
    return rows * dim_padded + rows * k_tile_n + k_tile_n * max(dim_padded, dim_v_padded) +
           k_tile_n + k_widest;
  }
};

Simd chosen() {
  return chosen_simd("cpu_splitkv");
}

Needs needs(const wb_sdpa_problem& p) {
  chosen();
  const Cut cut(p);
  return {cut.scratch_floats(), 1024, cut.tiles(p) * cut.splits * cut.part_floats()};
}

/// Split `index` of row tile `tile` (over batch, key/value heads and row tiles).
Split make_split(const Call& call, const Cut& cut, std::int64_t tile, std::int64_t index,
                 float* scratch) {
  const wb_sdpa_problem& p = call.problem;
  const std::int64_t head = tile / cut.row_tiles;  // b * Hkv + hkv
  Split s{};
  s.packed = {head / p.heads_kv, head % p.heads_kv, p.heads_q / p.heads_kv};
  s.first_row = tile % cut.row_tiles * cut.rows;
  s.rows = min(cut.rows, cut.rows_per_head - s.first_row);
  // The last row of the tile sees the most keys; a split beyond them stays empty.
  const std::int64_t visible = visible_keys(p, s.packed.at(s.first_row + s.rows - 1).i);
  s.first_key = index * k_split_keys;
  s.end_key = min(s.first_key + k_split_keys, visible);
  s.dim_padded = cut.dim_padded;
  s.dim_v_padded = cut.dim_v_padded;
  s.q = scratch;
  s.scores = s.q + cut.rows * cut.dim_padded;
  s.staged = s.scores + cut.rows * k_tile_n;
  s.bias = s.staged + k_tile_n * max(cut.dim_padded, cut.dim_v_padded);
  s.correction = s.bias + k_tile_n;
  s.acc = call.shared() + (tile * cut.splits + index) * cut.part_floats();
  s.row_max = s.acc + cut.rows * cut.dim_v_padded;
  s.row_sum = s.row_max + cut.rows;
  return s;
}

void run_split(const Call& call, const Split& split) {
  WB_SIMD_CALL(chosen(), run_split(call, split));
}

void merge_row(const Call& call, const Cut& cut, const Split& first_part, std::int64_t r,
               float* row_acc) {
  WB_SIMD_CALL(chosen(), merge_row(call, first_part, cut.splits, cut.part_floats(), r, row_acc));
}

void forward(const Call& call) {
  const wb_sdpa_problem& p = call.problem;
  const Cut cut(p);
  const std::int64_t tiles = cut.tiles(p);
  call.parallel(tiles * cut.splits, [&](std::int64_t task, float* scratch) {
    run_split(call, make_split(call, cut, task / cut.splits, task % cut.splits, scratch));
  });
  call.parallel(tiles, [&](std::int64_t tile, float* scratch) {
    const Split first_part = make_split(call, cut, tile, 0, scratch);
    for (std::int64_t r = 0; r < first_part.rows; ++r) {
      merge_row(call, cut, first_part, r, first_part.staged);
    }
  });
}

}  // namespace splitkv

WB_CPU_KERNEL(splitkv::needs, splitkv::forward)
