// SPDX-License-Identifier: MIT
// Textual header: one split of keys for a few query rows, and the merge, on one SIMD path
// (simd_paths.hpp).
//
// Vector lanes are columns d of the head dim: K and V are read once, in the order in which they
// lie, and every vector of them is used by all rows of a block.

/// Rows of one register block; keys that are scored together.
constexpr int k_block_rows = k_width == 16 ? 4 : 2;
constexpr int k_block_keys = 4;

/// Within every 4 lanes: [a0 + a1, a2 + a3, b0 + b1, b2 + b3].
template <std::size_t... kLane>
[[gnu::always_inline]] inline Lanes add_pairs(Lanes a, Lanes b, std::index_sequence<kLane...>) {
  constexpr auto k_from = [](std::size_t lane, std::size_t odd) {
    return static_cast<int>(lane / 4 * 4 + lane % 2 * 2 + odd + (lane % 4 < 2 ? 0 : k_width));
  };
  return __builtin_shufflevector(a, b, k_from(kLane, 0)...) +
         __builtin_shufflevector(a, b, k_from(kLane, 1)...);
}

/// v plus itself rotated by kBy lanes.
template <std::size_t kBy, std::size_t... kLane>
[[gnu::always_inline]] inline Lanes add_rotated(Lanes v, std::index_sequence<kLane...>) {
  return v + __builtin_shufflevector(v, v, static_cast<int>((kLane + kBy) % k_width)...);
}

/// to[j] = the sum of the lanes of v[j], for four vectors.
[[gnu::always_inline]] inline void store_sums(const Lanes (&v)[k_block_keys], float* to) {
  constexpr std::make_index_sequence<k_width> k_all{};
  Lanes sums = add_pairs(add_pairs(v[0], v[1], k_all), add_pairs(v[2], v[3], k_all), k_all);
  if constexpr (k_width >= 16) sums = add_rotated<8>(sums, k_all);
  if constexpr (k_width >= 8) sums = add_rotated<4>(sums, k_all);
  for (int j = 0; j < k_block_keys; ++j) to[j] = sums[j];
}

/// scores[r][n] = sum over d of q[r][d] * k[n][d] for kRows rows. Columns up to the next multiple
/// of four keys are written, too; the last key stands in for those that are not there.
template <int kRows>
void score_block(const float* q, std::int64_t q_stride, FloatRows k, std::int64_t dim,
                 std::int64_t count, float* scores) {
  for (std::int64_t n = 0; n < count; n += k_block_keys) {
    const float* key[k_block_keys];
    for (int j = 0; j < k_block_keys; ++j) {
      key[j] = k.at + (n + j < count ? n + j : count - 1) * k.stride;
    }
    Lanes sums[kRows][k_block_keys] = {};
    for (std::int64_t d = 0; d < dim; d += k_width) {
      Lanes query[kRows];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) query[r] = load(q + r * q_stride + d);
#pragma GCC unroll 4
      for (int j = 0; j < k_block_keys; ++j) {
        const Lanes column = in_register(load(key[j] + d));
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) sums[r][j] += query[r] * column;
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) store_sums(sums[r], scores + r * k_tile_n + n);
  }
}

/// acc[r][d] = correction[r] * acc[r][d] + sum over n of weights[r][n] * v[n][d], for kRows rows
/// and kVecs vectors of columns.
template <int kRows, int kVecs>
void accumulate_block(const float* weights, const float* correction, FloatRows v,
                      std::int64_t count, float* acc, std::int64_t acc_stride) {
  Lanes sums[kRows][kVecs];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int x = 0; x < kVecs; ++x) {
      sums[r][x] = load(acc + r * acc_stride + x * k_width) * splat(correction[r]);
    }
  }
  for (std::int64_t n = 0; n < count; ++n) {
    const float* value = v.at + n * v.stride;
    Lanes weight[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) weight[r] = splat(weights[r * k_tile_n + n]);
#pragma GCC unroll 8
    for (int x = 0; x < kVecs; ++x) {
      const Lanes column =
          kRows > 1 ? in_register(load(value + x * k_width)) : load(value + x * k_width);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sums[r][x] += weight[r] * column;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int x = 0; x < kVecs; ++x) store(acc + r * acc_stride + x * k_width, sums[r][x]);
  }
}

/// The same for all columns: wide blocks, then halves of them.
template <int kRows, int kVecs>
void accumulate_columns(const float* weights, const float* correction, FloatRows v,
                        std::int64_t count, float* acc, std::int64_t acc_stride,
                        std::int64_t columns) {
  for (; columns >= kVecs * k_width; columns -= kVecs * k_width) {
    accumulate_block<kRows, kVecs>(weights, correction, v, count, acc, acc_stride);
    v.at += kVecs * k_width;
    acc += kVecs * k_width;
  }
  if constexpr (kVecs > 1) {
    if (columns > 0) {
      accumulate_columns<kRows, kVecs / 2>(weights, correction, v, count, acc, acc_stride, columns);
    }
  }
}

template <int kRows>
void score_rows(const Split& s, FloatRows k, std::int64_t count, std::int64_t r) {
  for (; r + kRows <= s.rows; r += kRows) {
    score_block<kRows>(s.q + r * s.dim_padded, s.dim_padded, k, s.dim_padded, count,
                       s.scores + r * k_tile_n);
  }
  if constexpr (kRows > 1) {
    if (r < s.rows) score_rows<kRows / 2>(s, k, count, r);
  }
}

template <int kRows>
void accumulate_rows(const Split& s, FloatRows v, std::int64_t count, std::int64_t r) {
  constexpr int k_vecs = k_width == 16 ? (kRows == 4 ? 4 : 8) : (kRows == 1 ? 8 : 4);
  for (; r + kRows <= s.rows; r += kRows) {
    accumulate_columns<kRows, k_vecs>(s.scores + r * k_tile_n, s.correction + r, v, count,
                                      s.acc + r * s.dim_v_padded, s.dim_v_padded, s.dim_v_padded);
  }
  if constexpr (kRows > 1) {
    if (r < s.rows) accumulate_rows<kRows / 2>(s, v, count, r);
  }
}

/// Scores of row r -> weights, with the running maximum; what a row may not see becomes 0.
inline void softmax(const Call& call, const Split& s, std::int64_t r, std::int64_t first,
                    std::int64_t count) {
  const QueryRow row = s.packed.at(s.first_row + r);
  float* scores = s.scores + r * k_tile_n;
  const std::int64_t visible = visible_keys(call.problem, row.i) - first;
  if (call.problem.mask != WB_MASK_NONE) {
    load_bias(call, s.packed.b, row, first, count, s.bias);
    for (std::int64_t n = 0; n < count; ++n) scores[n] += s.bias[n];
  }
  const std::int64_t padded = (count + k_width - 1) / k_width * k_width;
  const std::int64_t seen = visible < 0 ? 0 : visible < count ? visible : count;
  for (std::int64_t n = seen; n < padded; ++n) scores[n] = k_minus_infinity;

  Lanes maxima = splat(k_minus_infinity);
  for (std::int64_t n = 0; n < padded; n += k_width) maxima = larger(load(scores + n), maxima);
  const float old_max = s.row_max[r];
  float new_max = old_max;
  for (int lane = 0; lane < k_width; ++lane)
    new_max = maxima[lane] > new_max ? maxima[lane] : new_max;
  const float shift = new_max == k_minus_infinity ? 0.0f : new_max;  // inf - inf: NaN
  Lanes sums{};
  for (std::int64_t n = 0; n < padded; n += k_width) {
    const Lanes weights = exp2_nonpositive(load(scores + n) - splat(shift));
    store(scores + n, weights);
    sums += weights;
  }
  float sum = 0;
  for (int lane = 0; lane < k_width; ++lane) sum += sums[lane];
  s.correction[r] = exp2_nonpositive(splat(old_max - shift))[0];
  s.row_sum[r] = s.row_sum[r] * s.correction[r] + sum;
  s.row_max[r] = new_max;
}

inline void start_rows(const Call& call, const Split& s) {
  const wb_sdpa_problem& p = call.problem;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const QueryRow row = s.packed.at(s.first_row + r);
    load_floats(call.args.q, offset(p.q, s.packed.b, row.h, row.i), p.dim, s.dim_padded, p.dtype,
                static_cast<float>(p.scale) * k_log2_e, s.q + r * s.dim_padded);
    s.row_max[r] = k_minus_infinity;
    s.row_sum[r] = 0.0f;
  }
  fill(s.acc, s.rows * s.dim_v_padded, 0.0f);
}

/// First pass: what the keys of one split add up to for the rows of one tile.
inline void run_split(const Call& call, const Split& s) {
  const wb_sdpa_problem& p = call.problem;
  start_rows(call, s);
  for (std::int64_t first = s.first_key; first < s.end_key; first += k_tile_n) {
    const std::int64_t count = min(k_tile_n, s.end_key - first);
    const FloatRows k = stage_rows(call.args.k, offset(p.k, s.packed.b, s.packed.hkv, first),
                                   p.k.row, count, p.dim, s.dim_padded, p.dtype, false, s.staged);
    score_rows<k_block_rows>(s, k, count, 0);
    for (std::int64_t r = 0; r < s.rows; ++r) softmax(call, s, r, first, count);
    const FloatRows v =
        stage_rows(call.args.v, offset(p.v, s.packed.b, s.packed.hkv, first), p.v.row, count,
                   p.dim_v, s.dim_v_padded, p.dtype, false, s.staged);
    accumulate_rows<k_block_rows>(s, v, count, 0);
  }
}

/// Second pass: row r of a tile from its parts, which lie `stride` floats apart. The parts' sums
/// are brought to the largest of their maxima; a part without a visible key has weight 0.
inline void merge_row(const Call& call, const Split& first_part, std::int64_t splits,
                      std::int64_t stride, std::int64_t r, float* row_acc) {
  const Split& s = first_part;
  const QueryRow row = s.packed.at(s.first_row + r);
  float row_max = k_minus_infinity, row_sum = 0.0f;
  for (std::int64_t part = 0; part < splits; ++part) {
    const float part_max = s.row_max[part * stride + r];
    row_max = part_max > row_max ? part_max : row_max;
  }
  const float shift = row_max == k_minus_infinity ? 0.0f : row_max;  // inf - inf: NaN
  fill(row_acc, s.dim_v_padded, 0.0f);
  for (std::int64_t part = 0; part < splits; ++part) {
    const Lanes weight = exp2_nonpositive(splat(s.row_max[part * stride + r] - shift));
    if (!(weight[0] > 0.0f)) continue;
    row_sum += s.row_sum[part * stride + r] * weight[0];
    const float* acc = s.acc + part * stride + r * s.dim_v_padded;
    for (std::int64_t d = 0; d < s.dim_v_padded; d += k_width) {
      store(row_acc + d, load(row_acc + d) + load(acc + d) * weight);
    }
  }
  finish_row(call, s.packed.b, row.h, row.i, row_acc, natural_max(call, s.packed.b, row, row_max),
             row_sum);
}
