// SPDX-License-Identifier: MIT
// Analyses: pure functions from recorded Evidence to Findings, one file each; analysis.cpp lists
// them all. Called by the engine after measuring, and with evidence gathered from a log or from
// files.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "measure/finding.hpp"

namespace wb::analyze {

struct Analysis {
  std::string_view name;
  std::string_view about;
  std::vector<measure::Finding> (*run)(const measure::Evidence& evidence);
  /// True when the result does not depend on the candidate, but only on problems, device or the
  /// subjects it is compared with. A session records it once, at its baseline.
  bool once = false;
};

/// All analyses, in the order of the report.
std::span<const Analysis> analyses();

enum class AnalysisScope { all, of_candidate };
/// Runs all analyses, or only those that depend on the candidate; findings in order.
std::vector<measure::Finding> analyze(const measure::Evidence& evidence,
                                      AnalysisScope scope = AnalysisScope::all);

/// Positions in `findings`, the most important first: doubts about figures, causes that were seen,
/// the largest distance to a bound, then facts. The first of each analysis comes before further
/// ones of equal weight, and what is found of `subject` (empty: none is meant) before that of
/// others.
std::vector<std::size_t> by_importance(const std::vector<measure::Finding>& findings,
                                       std::string_view subject);

}  // namespace wb::analyze
