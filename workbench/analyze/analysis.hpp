// SPDX-License-Identifier: MIT
// Analyses: pure functions over recorded Evidence that give Findings. One file each; the list in
// analysis.cpp is the only place that names them all. Who calls: the engine after measuring, and
// for evidence that it gathers from a log or from files.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "measure/finding.hpp"

namespace wb::analyze {

struct Analysis {
  std::string_view name;
  std::string_view about;
  std::vector<measure::Finding> (*run)(const measure::Evidence& evidence);
  /// Says the same whatever the candidate: of problems and device alone, or of what candidates are
  /// held against. A session records it once, at its baseline.
  bool once = false;
};

/// All analyses, in the order of the report.
std::span<const Analysis> analyses();

enum class AnalysisScope { all, of_candidate };
/// Runs them all, or all but those that say the same of every candidate; findings in order.
std::vector<measure::Finding> analyze(const measure::Evidence& evidence,
                                      AnalysisScope scope = AnalysisScope::all);

}  // namespace wb::analyze
