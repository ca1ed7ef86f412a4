// SPDX-License-Identifier: MIT
#include "problem/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "problem/inner_loops.hpp"

namespace wb::problem {
namespace {

/// A small generator for choosing blocks; its quality does not affect secrecy.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : m_state(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (m_state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }

 private:
  std::uint64_t m_state;
};

std::int64_t blocks_per_head(const Problem& problem) {
  return (problem.Sq + k_rows_per_block - 1) / k_rows_per_block;
}

/// Blocks are numbered b, h, row block, the last running fastest.
RowBlock block_at(const Problem& problem, std::int64_t index) {
  const std::int64_t per_head = blocks_per_head(problem);
  const std::int64_t begin = index % per_head * k_rows_per_block;
  return {index / per_head / problem.Hq, index / per_head % problem.Hq, begin,
          std::min(begin + k_rows_per_block, problem.Sq)};
}

}  // namespace

std::int64_t row_block_count(const Problem& problem) {
  return problem.B * problem.Hq * blocks_per_head(problem);
}

std::vector<RowBlock> all_row_blocks(const Problem& problem) {
  std::vector<RowBlock> blocks;
  const std::int64_t count = row_block_count(problem);
  blocks.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) blocks.push_back(block_at(problem, i));
  return blocks;
}

std::vector<RowBlock> sample_row_blocks(const Problem& problem, std::size_t max_blocks,
                                        std::uint32_t seed) {
  const std::int64_t total = row_block_count(problem);
  if (static_cast<std::size_t>(total) <= max_blocks) return all_row_blocks(problem);
  const std::int64_t per_head = blocks_per_head(problem);
  const std::int64_t heads = problem.B * problem.Hq;
  SplitMix random(seed);
  std::set<std::int64_t> chosen;
  if (2 * heads <= static_cast<std::int64_t>(max_blocks)) {
    for (std::int64_t head = 0; head < heads; ++head) {
      chosen.insert(head * per_head);
      chosen.insert(head * per_head + per_head - 1);
    }
  } else {
    // With too many heads to take all ends, the ends of random heads make half of the sample.
    while (chosen.size() < max_blocks / 2) {
      const std::int64_t head = random.below(heads);
      chosen.insert(head * per_head + (random.below(2) == 0 ? 0 : per_head - 1));
    }
  }
  while (chosen.size() < max_blocks) chosen.insert(random.below(total));
  std::vector<RowBlock> blocks;
  for (const std::int64_t index : chosen) blocks.push_back(block_at(problem, index));
  return blocks;
}

namespace {

constexpr std::int64_t k_oracle_panel_keys = 128;
/// Limit of the oracle's scores in memory: 16 MiB. With many keys it handles fewer rows at a time.
constexpr std::int64_t k_max_scores = std::int64_t{1} << 21;

/// Turns the scores q k^T of one row into weights exp(s - max) in place. `count` keys are visible,
/// the rest of `total` get weight 0. max is -inf when no key is left.
struct RowSoftmax {
  double max, sum, sum_of_squares;
};
RowSoftmax oracle_softmax(double* scores, const double* bias, std::int64_t count,
                          std::int64_t total, double scale) {
  constexpr double k_none = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < count; ++j) scores[j] = scores[j] * scale + bias[j];
  const double max = largest(scores, count, k_none);
  if (max == k_none) {
    std::fill(scores, scores + total, 0.0);
    return {max, 0, 0};
  }
  for (std::int64_t j = 0; j < count; ++j) scores[j] -= max;
  exponentials(scores, count);
  double sum = 0;
  double sum_of_squares = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    sum += scores[j];
    sum_of_squares += scores[j] * scores[j];
  }
  std::fill(scores + count, scores + total, 0.0);
  return {max, sum, sum_of_squares};
}

/// Writes rows [begin, end) of one (b, h) to `result`, which must be zero.
void oracle_rows(const Problem& p, const Inputs& inputs, const RowBlock& block, std::int64_t begin,
                 std::int64_t end, BlockOutput& result) {
  const HeadReader<double> reader(p, inputs, block.b, block.h);
  const std::int64_t rows = end - begin;
  const std::int64_t keys = visible_keys(p, end - 1);
  double* out = result.out.data() + (begin - block.row_begin) * p.Dv;
  double* lse = result.lse.data() + (begin - block.row_begin);
  double* weight_norm = result.weight_norm.data() + (begin - block.row_begin);
  const double scale = effective_scale(p);
  constexpr std::int64_t k_panel = k_oracle_panel_keys;
  std::vector<double> q(static_cast<std::size_t>(rows * p.D));
  std::vector<double> scores(static_cast<std::size_t>(rows * keys));
  std::vector<double> panel(static_cast<std::size_t>(k_panel * std::max(p.D, p.Dv)));
  std::vector<double> bias(static_cast<std::size_t>(keys));
  reader.q_rows(begin, rows, q.data());
  for (std::int64_t key = 0; key < keys; key += k_panel) {
    const std::int64_t count = std::min(k_panel, keys - key);
    reader.k_transposed(key, count, panel.data(), k_panel);
    gemm_add({scores.data() + key, keys}, {q.data(), p.D}, {panel.data(), k_panel}, rows, count,
             p.D);
  }
  std::vector<double> sums(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t visible = visible_keys(p, begin + i);
    reader.bias_row(begin + i, 0, visible, bias.data());
    const RowSoftmax row =
        oracle_softmax(scores.data() + i * keys, bias.data(), visible, keys, scale);
    sums[static_cast<std::size_t>(i)] = row.sum;
    lse[i] = row.sum > 0 ? row.max + std::log(row.sum) : -std::numeric_limits<double>::infinity();
    weight_norm[i] = row.sum > 0 ? std::sqrt(row.sum_of_squares) / row.sum : 0.0;
  }
  for (std::int64_t key = 0; key < keys; key += k_panel) {
    const std::int64_t count = std::min(k_panel, keys - key);
    reader.v_rows(key, count, panel.data());
    gemm_add({out, p.Dv}, {scores.data() + key, keys}, {panel.data(), p.Dv}, rows, p.Dv, count);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const double sum = sums[static_cast<std::size_t>(i)];
    if (!(sum > 0)) continue;  // fully masked: stays zero
    for (std::int64_t d = 0; d < p.Dv; ++d) out[i * p.Dv + d] /= sum;
  }
}

}  // namespace

BlockOutput oracle_block(const Problem& problem, const Inputs& inputs, const RowBlock& block) {
  const std::int64_t rows = block.row_end - block.row_begin;
  const auto row_count = static_cast<std::size_t>(rows);
  BlockOutput result{std::vector<double>(static_cast<std::size_t>(rows * problem.Dv)),
                     std::vector<double>(row_count), std::vector<double>(row_count)};
  const std::int64_t at_once = std::clamp<std::int64_t>(k_max_scores / problem.Skv, 1, rows);
  for (std::int64_t row = 0; row < rows; row += at_once) {
    oracle_rows(problem, inputs, block, block.row_begin + row,
                block.row_begin + std::min(rows, row + at_once), result);
  }
  return result;
}

}  // namespace wb::problem
