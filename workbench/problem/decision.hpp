// SPDX-License-Identifier: MIT
// From statistics of row blocks to the verdict: the inequalities of docs/contracts/measurement.md
// as pure functions. The CPU judge and the GPU judge compute the statistics in different ways and
// share this decision.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem/verdict.hpp"

namespace wb::problem {

/// How far values x of a block (out, or std) are from the oracle's.
struct ErrorStatistics {
  double max = 0, mean = 0;      ///< of |x - ref|; a NaN in x makes both infinite
  std::int64_t worst_index = 0;  ///< index of max, in [rows, Dv] order; the first on a tie
  double max_magnitude = 0, mean_magnitude = 0;  ///< of |x|
};

/// The factor by which rounding of a score may exceed that of a sum with mixed signs: in the draw
/// `low` all terms have one sign, so every partial sum is large.
inline double score_terms(Draw draw) {
  return draw == Draw::low ? 4 : 1;
}

/// Inputs of the inequalities of one block. Each span has one entry per row.
struct BlockStatistics {
  ErrorStatistics out;
  double got = 0, want = 0;  ///< out and ref at out.worst_index
  ErrorStatistics of_std;    ///< for a small block the worst of all StdForms
  double max_ref = 0, mean_ref = 0;
  double score_deviation = 0;  ///< score_deviation() of the inputs
  double score_terms = 1;      ///< score_terms() of the draw
  std::span<const double> ref_lse;
  std::span<const double> weight_norm;  ///< BlockOutput::weight_norm
  std::span<const float> got_lse;       ///< empty when LSE is not judged
};

/// True for a block whose budget uses the largest error of all StdForms (k_small_block_elements).
bool is_small_block(const Problem& problem, const RowBlock& block);

/// Merges the errors of one more StdForm by taking the larger of each.
void take_larger(ErrorStatistics& errors, const ErrorStatistics& other);

/// The inequality of the block that uses the largest share of its budget; the first on a tie.
BudgetUse judge_statistics(const Problem& problem, const RowBlock& block,
                           const BlockStatistics& statistics);

/// Counts over every element of an output.
struct OutputScan {
  std::int64_t non_finite = 0;  ///< of out and lse, as OutputVerdict
  std::int64_t unwritten = 0;
};

/// Counts LSE values that no problem has: +inf and NaN.
std::int64_t count_bad_lse(std::span<const float> lse);

/// The verdict on an output from the budget uses of its judged blocks, in their order.
OutputVerdict conclude(const Problem& problem, std::span<const BudgetUse> uses,
                       const OutputScan& scan);

}  // namespace wb::problem
