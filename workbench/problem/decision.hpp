// SPDX-License-Identifier: MIT
// From statistics of row blocks to the verdict: the inequalities of docs/contracts/measurement.md
// as pure functions. The CPU judge and the GPU judge measure each in their own way; both decide
// here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem/verdict.hpp"

namespace wb::problem {

/// How far some values x of a block are from the oracle's.
struct ErrorStatistics {
  double max = 0, mean = 0;      ///< of |x - ref|; a NaN in x makes both infinite
  std::int64_t worst_index = 0;  ///< of max, in [rows, Dv] order; the first where several tie
  double max_magnitude = 0, mean_magnitude = 0;  ///< of |x|
};

/// By how much more the rounding of a score may be than that of a sum whose terms have signs of
/// their own: in the draw `low` all terms have one sign, so every partial sum is large.
inline double score_terms(Draw draw) {
  return draw == Draw::low ? 4 : 1;
}

/// All that the inequalities of one block ask for. The spans have one entry for each row.
struct BlockStatistics {
  ErrorStatistics out;
  double got = 0, want = 0;  ///< out and ref at out.worst_index
  ErrorStatistics of_std;    ///< of a small block the worst of all StdForms
  double max_ref = 0, mean_ref = 0;
  double score_deviation = 0;  ///< as score_deviation() of the inputs
  double score_terms = 1;      ///< as score_terms()
  std::span<const double> ref_lse;
  std::span<const double> weight_norm;  ///< as BlockOutput::weight_norm
  std::span<const float> got_lse;       ///< empty when LSE is not judged
};

/// True of a block that takes the largest error of all StdForms (k_small_block_elements).
bool is_small_block(const Problem& problem, const RowBlock& block);

/// Adds the errors of one more StdForm: the larger of each.
void take_larger(ErrorStatistics& errors, const ErrorStatistics& other);

/// The inequality of the block that uses most of its budget; the first one where several tie.
BudgetUse judge_statistics(const Problem& problem, const RowBlock& block,
                           const BlockStatistics& statistics);

/// Counts over every element of an output.
struct OutputScan {
  std::int64_t non_finite = 0;  ///< of out and lse, as OutputVerdict
  std::int64_t unwritten = 0;
};

/// LSE that no problem has: +inf and NaN.
std::int64_t count_bad_lse(std::span<const float> lse);

/// The verdict on an output from the uses of the blocks judged, in their order.
OutputVerdict conclude(const Problem& problem, std::span<const BudgetUse> uses,
                       const OutputScan& scan);

}  // namespace wb::problem
