// SPDX-License-Identifier: MIT
// Combines the comparisons of one problem in both regimes of the hot plan.
#include <fmt/format.h>

#include <algorithm>

#include "measure/statistics.hpp"

namespace wb::measure {

Comparison combine_regimes(const Comparison& own, Regime regime, const Comparison& other) {
  Comparison result = own;
  if (!(own.speedup > 0)) return result;
  const std::string_view own_word = to_string(regime), other_word = to_string(opposite(regime));
  const bool opposed =
      (own.speedup > 1 && other.speedup < 1) || (own.speedup < 1 && other.speedup > 1);
  const bool has_same =
      own.outcome == ComparisonOutcome::same || other.outcome == ComparisonOutcome::same;
  if (!(other.speedup > 0)) {
    result.outcome = ComparisonOutcome::ambiguous;
    result.reason = fmt::format("no valid figure in the {} regime: {}", other_word, other.reason);
    result.interval.low = result.interval.high = k_unknown;
    result.instance_log_speedups.clear();
  } else if (opposed && !has_same) {
    result.outcome = ComparisonOutcome::ambiguous;
    result.reason = fmt::format("{} ({:.3f}x) and {} ({:.3f}x) point opposite ways", own_word,
                                own.speedup, other_word, other.speedup);
    // An interval over both needs a valid one on each side.
    const bool both = is_valid(own.interval) && is_valid(other.interval);
    result.interval.low = both ? std::min(own.interval.low, other.interval.low) : k_unknown;
    result.interval.high = both ? std::max(own.interval.high, other.interval.high) : k_unknown;
    result.instance_log_speedups.clear();
  } else {
    result.reason +=
        fmt::format("; {}: {} ({:.3f}x)", other_word, to_string(other.outcome), other.speedup);
  }
  return result;
}

}  // namespace wb::measure
