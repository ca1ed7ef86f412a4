// SPDX-License-Identifier: MIT
// Which blocks of rows are judged.
#include <algorithm>
#include <set>

#include "problem/attention.hpp"

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

}  // namespace wb::problem
