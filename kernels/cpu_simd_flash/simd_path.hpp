// SPDX-License-Identifier: MIT
// Textual header: one tile of query rows on one SIMD path (simd_paths.hpp).
//
// Everything is transposed: vector lanes are query rows m, so that scores are S^T[n][m], sums and
// maxima need no shuffles, and both products broadcast elements of K and V as they lie in memory.
// Only Q and O are ever transposed, once a tile.

/// Registers of one block of a product: sums of kRows x kVecs vectors, kVecs operands, one factor.
#if WB_SIMD_PATH == 3
constexpr int k_block_rows = BLOCK_ROWS, k_block_vecs = BLOCK_VECS;  // of 32 registers
#else
constexpr int k_block_rows = 6, k_block_vecs = 2;  // of 16 registers
#endif

/// c[r][m] = start[m] * c[r][m] + sum over s of a[r * row_step + s * step] * b[s][m], for kRows
/// rows and kVecs vectors of m. b and c have rows of TILE_M floats. Without `start` the sum begins
/// at 0; with `add` as well, and the old c is added at the end.
template <int kRows, int kVecs>
void multiply_block(const float* a, std::int64_t row_step, std::int64_t step, const float* b,
                    std::int64_t steps, float* c, const float* start, bool add) {
  Lanes sums[kRows][kVecs];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) {
      sums[r][v] =
          start ? load(c + r * k_tile_m + v * k_width) * load(start + v * k_width) : Lanes{};
    }
  }
  for (std::int64_t s = 0; s < steps; ++s) {
    Lanes operand[kVecs];
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) operand[v] = in_register(load(b + s * k_tile_m + v * k_width));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Lanes factor = splat(a[r * row_step + s * step]);
#pragma GCC unroll 4
      for (int v = 0; v < kVecs; ++v) sums[r][v] += factor * operand[v];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) {
      float* to = c + r * k_tile_m + v * k_width;
      store(to, add ? load(to) + sums[r][v] : sums[r][v]);
    }
  }
}

/// The same for any number of rows: whole blocks, then halves of them.
template <int kRows, int kVecs>
void multiply_rows(const float* a, std::int64_t row_step, std::int64_t step, const float* b,
                   std::int64_t steps, float* c, const float* start, bool add, std::int64_t rows) {
  for (; rows >= kRows; rows -= kRows) {
    multiply_block<kRows, kVecs>(a, row_step, step, b, steps, c, start, add);
    a += kRows * row_step;
    c += kRows * k_tile_m;
  }
  if constexpr (kRows > 1) {
    if (rows > 0) multiply_rows<kRows / 2, kVecs>(a, row_step, step, b, steps, c, start, add, rows);
  }
}

/// The same for the first `vecs` vectors of the tile's lanes.
inline void multiply(const float* a, std::int64_t row_step, std::int64_t step, const float* b,
                     std::int64_t steps, float* c, const float* start, bool add, std::int64_t rows,
                     std::int64_t vecs) {
  std::int64_t v = 0;
  for (; v + k_block_vecs <= vecs; v += k_block_vecs) {
    multiply_rows<k_block_rows, k_block_vecs>(a, row_step, step, b + v * k_width, steps,
                                              c + v * k_width, start ? start + v * k_width : start,
                                              add, rows);
  }
  for (; v < vecs; ++v) {
    multiply_rows<k_block_rows, 1>(a, row_step, step, b + v * k_width, steps, c + v * k_width,
                                   start ? start + v * k_width : start, add, rows);
  }
}

/// scores = K Q^T, summed up in three levels: runs of columns in registers, runs in a block,
/// blocks. One long chain of f32 additions would cost the log-sum-exp more than its budget of 1e-5.
inline void score(FloatRows k, const Tile& t, std::int64_t dim, std::int64_t count) {
  const std::int64_t run = dim > 128 ? 32 : 64;
  for (std::int64_t block = 0; block < dim; block += k_block_columns) {
    float* sums = block == 0 ? t.scores : t.partial;
    const std::int64_t end = min(block + k_block_columns, dim);
    for (std::int64_t d = block; d < end; d += run) {
      multiply(k.at + d, k.stride, 1, t.q + d * k_tile_m, min(run, end - d), sums, nullptr,
               d > block, count, t.vecs);
    }
    for (std::int64_t x = 0; block > 0 && x < count * k_tile_m; x += k_width) {
      store(t.scores + x, load(t.scores + x) + load(t.partial + x));
    }
  }
}

/// to[x][lane] = row of `lane` at x, for up to k_width rows `stride` apart in `from`.
inline void transpose_in(const float* from, std::int64_t stride, std::int64_t columns, float* to) {
  for (std::int64_t x = 0; x < columns; ++x) {
    Lanes lanes{};
    for (int lane = 0; lane < k_width; ++lane) lanes[lane] = from[lane * stride + x];
    store(to + x * k_tile_m, lanes);
  }
}

/// Q, scaled and transposed; lanes without a row get zeros. Starts the sums.
inline void load_queries(const Call& call, const Tile& t) {
  const wb_sdpa_problem& p = call.problem;
  const float factor = static_cast<float>(p.scale) * k_log2_e;
  for (std::int64_t m = 0; m < k_tile_m; m += k_width) {
    for (std::int64_t lane = 0; lane < k_width; ++lane) {
      if (m + lane < t.rows) {
        const QueryRow row = t.row(m + lane);
        load_floats(call.args.q, offset(p.q, t.packed.b, row.h, row.i), p.dim, p.dim, p.dtype,
                    factor, t.rows_staged + lane * t.staged_stride);
      } else {
        fill(t.rows_staged + lane * t.staged_stride, p.dim, 0.0f);
      }
    }
    transpose_in(t.rows_staged, t.staged_stride, p.dim, t.q + m);
  }
  fill(t.acc, p.dim_v * k_tile_m, 0.0f);
  fill(t.row_max, k_tile_m, k_minus_infinity);
  fill(t.row_sum, k_tile_m, 0.0f);
}

/// Adds the mask of keys [first, first + count) to the scores, in the scale of base-2 exponents.
inline void add_mask(const Call& call, const Tile& t, std::int64_t first, std::int64_t count) {
  for (std::int64_t m = 0; m < t.vecs * k_width; m += k_width) {
    for (std::int64_t lane = 0; lane < k_width; ++lane) {
      load_bias(call, t.packed.b, t.row(min(m + lane, t.rows - 1)), first, count,
                t.rows_staged + lane * t.staged_stride);
    }
    for (std::int64_t n = 0; n < count; ++n) {
      float* scores = t.scores + n * k_tile_m + m;
      Lanes bias{};
      for (int lane = 0; lane < k_width; ++lane)
        bias[lane] = t.rows_staged[lane * t.staged_stride + n];
      store(scores, load(scores) + bias);
    }
  }
}

/// Hides keys beyond each row's causal limit.
inline void hide_future(const Call& call, const Tile& t, std::int64_t first, std::int64_t count) {
  const Lanes hidden = splat(k_minus_infinity);
  for (std::int64_t m = 0; m < t.vecs * k_width; m += k_width) {
    Lanes limit{};  // keys of this step that the row sees: small integers, exact in f32
    for (int lane = 0; lane < k_width; ++lane) {
      const std::int64_t i = t.row(min(m + lane, t.rows - 1)).i;
      const std::int64_t visible = visible_keys(call.problem, i) - first;
      limit[lane] = static_cast<float>(clamp(visible, std::int64_t{0}, count));
    }
    for (std::int64_t n = 0; n < count; ++n) {
      float* scores = t.scores + n * k_tile_m + m;
      store(scores, splat(static_cast<float>(n)) < limit ? load(scores) : hidden);
    }
  }
}

/// Scores -> weights with the running maximum; correction = what acc must be multiplied by.
inline void softmax(const Tile& t, std::int64_t count) {
  for (std::int64_t m = 0; m < t.vecs * k_width; m += k_width) {
    float* column = t.scores + m;
    Lanes step_max = splat(k_minus_infinity);
    for (std::int64_t n = 0; n < count; ++n)
      step_max = larger(load(column + n * k_tile_m), step_max);
    const Lanes old_max = load(t.row_max + m);
    const Lanes new_max = larger(step_max, old_max);
    const Lanes shift = new_max == splat(k_minus_infinity) ? Lanes{} : new_max;  // inf - inf: NaN
    const Lanes correction = exp2_nonpositive(old_max - shift);
    Lanes sum = load(t.row_sum + m) * correction;
    for (std::int64_t n = 0; n < count; ++n) {
      const Lanes weight = exp2_nonpositive(load(column + n * k_tile_m) - shift);
      store(column + n * k_tile_m, weight);
      sum += weight;
    }
    store(t.row_max + m, new_max);
    store(t.row_sum + m, sum);
    store(t.correction + m, correction);
  }
}

/// Transposes O back and writes it with the log-sum-exp.
inline void store_rows(const Call& call, const Tile& t) {
  for (std::int64_t m = 0; m < t.rows; m += k_width) {
    for (std::int64_t d = 0; d < call.problem.dim_v; ++d) {
      const Lanes column = load(t.acc + d * k_tile_m + m);
      for (int lane = 0; lane < k_width; ++lane)
        t.rows_staged[lane * t.staged_stride + d] = column[lane];
    }
    for (std::int64_t lane = 0; lane < min<std::int64_t>(k_width, t.rows - m); ++lane) {
      const QueryRow row = t.row(m + lane);
      finish_row(call, t.packed.b, row.h, row.i, t.rows_staged + lane * t.staged_stride,
                 natural_max(call, t.packed.b, row, t.row_max[m + lane]), t.row_sum[m + lane]);
    }
  }
}

inline void run_tile(const Call& call, Tile t) {
  const wb_sdpa_problem& p = call.problem;
  t.vecs = (t.rows + k_width - 1) / k_width;
  load_queries(call, t);
  // Rows are ordered by query: the last one sees the most keys, the first one the fewest.
  const std::int64_t keys = visible_keys(p, t.row(t.rows - 1).i);
  const std::int64_t seen_by_all = visible_keys(p, t.row(0).i);
  for (std::int64_t first = 0; first < keys; first += k_tile_n) {
    const std::int64_t count = min(k_tile_n, keys - first);
    // Packed: broadcasts walk down rows, and rows far apart would share cache sets.
    const FloatRows k = stage_rows(call.args.k, offset(p.k, t.packed.b, t.packed.hkv, first),
                                   p.k.row, count, p.dim, p.dim, p.dtype, true, t.staged);
    score(k, t, p.dim, count);
    if (p.mask != WB_MASK_NONE) add_mask(call, t, first, count);
    if (first + count > seen_by_all) hide_future(call, t, first, count);
    softmax(t, count);
    const FloatRows v = stage_rows(call.args.v, offset(p.v, t.packed.b, t.packed.hkv, first),
                                   p.v.row, count, p.dim_v, p.dim_v, p.dtype, true, t.staged);
    multiply(v.at, 1, v.stride, t.scores, count, t.acc, t.correction, false, p.dim_v, t.vecs);
  }
  store_rows(call, t);
}
