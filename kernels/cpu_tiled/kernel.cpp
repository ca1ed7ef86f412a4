// SPDX-License-Identifier: MIT
// cpu_tiled: TILE_M query rows share every tile of TILE_N keys and values.
//
// Worklog
//   idea      a tile of K and V is converted to f32 once and used by TILE_M rows; both products
//             run in register blocks of 4 rows by 2 vectors, so each loaded vector is used 4 times
//   parent    cpu_online
//   changed   K tile stored transposed, so that the score product runs along keys and needs no
//             horizontal sums; tiles beyond the causal limit are not visited; the rows with the
//             most keys are started first
//   costs     the transposition of K is repeated for every tile of rows; with few rows (decode) it
//             is most of the work
//   measured  2 cores of an AMD EPYC, f32, hot: 0.69 [0.63, 0.76] of the speed of PyTorch's SDPA at
//             S 512 to 2048 (sessions/cpu-prefill-f32), 0.50 [0.44, 0.57] with 1 and 16 queries on
//             2048 to 16384 keys (sessions/cpu-decode-f32); the start of both

#include "cpu/support.hpp"

#ifndef TILE_M
#error "TILE_M, rows per tile, comes from the configuration"
#endif
#ifndef TILE_N
#error "TILE_N, keys per tile, comes from the configuration"
#endif

namespace tiled {

using namespace wb_cpu;

constexpr std::int64_t k_tile_m = TILE_M;
constexpr std::int64_t k_tile_n = TILE_N;
constexpr int k_block_rows = 4;
constexpr std::int64_t k_block_columns = 2 * k_lanes;
constexpr std::int64_t k_group = 8;  // rows of K transposed together: whole runs of 8 are written
static_assert(k_tile_m % k_block_rows == 0, "tiles are cut into blocks of 4 rows");
static_assert(k_tile_n % k_block_columns == 0, "tiles are cut into blocks of 2 vectors");

/// One tile of rows: where it is and its part of the workspace. All f32, row-major.
struct Tile {
  std::int64_t b, h, first_row, rows;
  std::int64_t dim, dim_v_padded;
  float* q;           // [TILE_M, D], scaled
  float* staged;      // [k_group, D]: rows of K on their way into k
  float* k;           // [D, TILE_N]: transposed
  float* v;           // [TILE_N, dim_v_padded]
  float* scores;      // [TILE_M, TILE_N], then the weights
  float* acc;         // [TILE_M, dim_v_padded], scaled by exp(-row_max)
  float* row_max;     // [TILE_M]
  float* row_sum;     // [TILE_M]
  float* correction;  // [TILE_M]: what acc must be multiplied by before the next sum
};

Needs needs(const wb_sdpa_problem& p) {
  const std::int64_t dim_v = round_up(p.dim_v, k_block_columns);
  return {(k_tile_m + k_group) * p.dim + p.dim * k_tile_n + k_tile_n * dim_v + k_tile_m * k_tile_n +
              k_tile_m * dim_v + 3 * k_tile_m,
          1024};
}

/// Task -> tile. Later rows see more keys under a causal rule, so they come first: the last tasks
/// to finish are then short ones.
Tile make_tile(const wb_sdpa_problem& p, std::int64_t task, float* scratch) {
  const std::int64_t tiles_per_head = (p.seq_q + k_tile_m - 1) / k_tile_m;
  const std::int64_t heads = p.batch * p.heads_q;
  const std::int64_t tile_index = tiles_per_head - 1 - task / heads;
  const std::int64_t head = task % heads;  // b * Hq + h
  Tile t{};
  t.b = head / p.heads_q;
  t.h = head % p.heads_q;
  t.first_row = tile_index * k_tile_m;
  t.rows = min(k_tile_m, p.seq_q - t.first_row);
  t.dim = p.dim;
  t.dim_v_padded = round_up(p.dim_v, k_block_columns);
  t.q = scratch;
  t.staged = t.q + k_tile_m * t.dim;
  t.k = t.staged + k_group * t.dim;
  t.v = t.k + t.dim * k_tile_n;
  t.scores = t.v + k_tile_n * t.dim_v_padded;
  t.acc = t.scores + k_tile_m * k_tile_n;
  t.row_max = t.acc + k_tile_m * t.dim_v_padded;
  t.row_sum = t.row_max + k_tile_m;
  t.correction = t.row_sum + k_tile_m;
  return t;
}

void load_queries(const Call& call, const Tile& t) {
  const wb_sdpa_problem& p = call.problem;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    load_row(call.args.q, offset(p.q, t.b, t.h, t.first_row + r), p.dim, p.dtype,
             static_cast<float>(p.scale), t.q + r * t.dim);
  }
  fill(t.acc, k_tile_m * t.dim_v_padded, 0.0f);
  fill(t.row_max, k_tile_m, k_minus_infinity);
  fill(t.row_sum, k_tile_m, 0.0f);
}

/// Keys and values [first, first + count); columns up to the next block boundary become zero.
void load_keys_and_values(const Call& call, const Tile& t, std::int64_t first, std::int64_t count) {
  const wb_sdpa_problem& p = call.problem;
  const std::int64_t hkv = kv_head(p, t.h);
  const std::int64_t padded = round_up(count, k_block_columns);
  for (std::int64_t n = 0; n < padded; n += k_group) {
    for (std::int64_t g = 0; g < k_group; ++g) {
      float* row = t.staged + g * t.dim;
      if (n + g < count) {
        load_row(call.args.k, offset(p.k, t.b, hkv, first + n + g), p.dim, p.dtype, 1.0f, row);
      } else {
        fill(row, t.dim, 0.0f);
      }
    }
    for (std::int64_t d = 0; d < t.dim; ++d) {
      for (std::int64_t g = 0; g < k_group; ++g) {
        t.k[d * k_tile_n + n + g] = t.staged[g * t.dim + d];
      }
    }
  }
  for (std::int64_t n = 0; n < count; ++n) {
    float* row = t.v + n * t.dim_v_padded;
    load_row(call.args.v, offset(p.v, t.b, hkv, first + n), p.dim_v, p.dtype, 1.0f, row);
    fill(row + p.dim_v, t.dim_v_padded - p.dim_v, 0.0f);
  }
}

/// c[r, x] = start[r] * c[r, x] + sum over s of a[r, s] * b[s, x], for kRows rows and columns
/// [0, columns), columns a multiple of k_block_columns. The register block that both products use.
template <int kRows>
void multiply(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
              std::int64_t inner, float* c, std::int64_t c_stride, std::int64_t columns,
              const float* start) {
  for (std::int64_t x = 0; x < columns; x += k_block_columns) {
    Vec sums[kRows][2];
    for (int r = 0; r < kRows; ++r) {
      const float* from = c + r * c_stride + x;
      sums[r][0] = start ? load_vec(from) * start[r] : Vec{};
      sums[r][1] = start ? load_vec(from + k_lanes) * start[r] : Vec{};
    }
    for (std::int64_t s = 0; s < inner; ++s) {
      const Vec b0 = load_vec(b + s * b_stride + x);
      const Vec b1 = load_vec(b + s * b_stride + x + k_lanes);
      for (int r = 0; r < kRows; ++r) {
        const float weight = a[r * a_stride + s];
        sums[r][0] += weight * b0;
        sums[r][1] += weight * b1;
      }
    }
    for (int r = 0; r < kRows; ++r) {
      store_vec(c + r * c_stride + x, sums[r][0]);
      store_vec(c + r * c_stride + x + k_lanes, sums[r][1]);
    }
  }
}

/// scores = q k^T for all rows of the tile; padded columns come out as 0 and are hidden later.
void score(const Tile& t, std::int64_t count) {
  const std::int64_t columns = round_up(count, k_block_columns);
  std::int64_t r = 0;
  for (; r + k_block_rows <= t.rows; r += k_block_rows) {
    multiply<k_block_rows>(t.q + r * t.dim, t.dim, t.k, k_tile_n, t.dim, t.scores + r * k_tile_n,
                           k_tile_n, columns, nullptr);
  }
  for (; r < t.rows; ++r) {
    multiply<1>(t.q + r * t.dim, t.dim, t.k, k_tile_n, t.dim, t.scores + r * k_tile_n, k_tile_n,
                columns, nullptr);
  }
}

/// Hides masked and causally excluded keys, then scores -> weights with the running maximum.
void softmax(const Call& call, const Tile& t, std::int64_t first, std::int64_t count) {
  const wb_sdpa_problem& p = call.problem;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    float* row = t.scores + r * k_tile_n;
    const std::int64_t i = t.first_row + r;
    const std::int64_t visible = clamp(visible_keys(p, i) - first, std::int64_t{0}, count);
    apply_mask(call, t.b, t.h, i, first, visible, row);
    for (std::int64_t j = visible; j < count; ++j) row[j] = k_minus_infinity;
    float tile_max = k_minus_infinity;
    for (std::int64_t j = 0; j < count; ++j) tile_max = row[j] > tile_max ? row[j] : tile_max;
    const float new_max = max(t.row_max[r], tile_max);
    const float shift = new_max == k_minus_infinity ? 0.0f : new_max;  // -inf - -inf is NaN
    t.correction[r] = exp_nonpositive(t.row_max[r] - shift);
    t.row_max[r] = new_max;
    for (std::int64_t j = 0; j < count; ++j) row[j] = exp_nonpositive(row[j] - shift);
    float sum = 0;
    Vec sums{};
    std::int64_t j = 0;
    for (; j + k_lanes <= count; j += k_lanes) sums += load_vec(row + j);
    for (int lane = 0; lane < k_lanes; ++lane) sum += sums[lane];
    for (; j < count; ++j) sum += row[j];
    t.row_sum[r] = t.row_sum[r] * t.correction[r] + sum;
  }
}

/// acc = correction * acc + weights v.
void accumulate(const Tile& t, std::int64_t count) {
  std::int64_t r = 0;
  for (; r + k_block_rows <= t.rows; r += k_block_rows) {
    multiply<k_block_rows>(t.scores + r * k_tile_n, k_tile_n, t.v, t.dim_v_padded, count,
                           t.acc + r * t.dim_v_padded, t.dim_v_padded, t.dim_v_padded,
                           t.correction + r);
  }
  for (; r < t.rows; ++r) {
    multiply<1>(t.scores + r * k_tile_n, k_tile_n, t.v, t.dim_v_padded, count,
                t.acc + r * t.dim_v_padded, t.dim_v_padded, t.dim_v_padded, t.correction + r);
  }
}

void store(const Call& call, const Tile& t) {
  for (std::int64_t r = 0; r < t.rows; ++r) {
    finish_row(call, t.b, t.h, t.first_row + r, t.acc + r * t.dim_v_padded, t.row_max[r],
               t.row_sum[r]);
  }
}

void forward(const Call& call) {
  const wb_sdpa_problem& p = call.problem;
  const std::int64_t tiles_per_head = (p.seq_q + k_tile_m - 1) / k_tile_m;
  call.parallel(p.batch * p.heads_q * tiles_per_head, [&](std::int64_t task, float* scratch) {
    const Tile tile = make_tile(p, task, scratch);
    load_queries(call, tile);
    // The last row of the tile sees the most keys; no row needs a tile beyond them.
    const std::int64_t keys = visible_keys(p, tile.first_row + tile.rows - 1);
    for (std::int64_t first = 0; first < keys; first += k_tile_n) {
      const std::int64_t count = min(k_tile_n, keys - first);
      load_keys_and_values(call, tile, first, count);
      score(tile, count);
      softmax(call, tile, first, count);
      accumulate(tile, count);
    }
    store(call, tile);
  });
}

}  // namespace tiled

WB_CPU_KERNEL(tiled::needs, tiled::forward)
