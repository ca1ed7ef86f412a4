// SPDX-License-Identifier: MIT
// Analyses: pure functions over recorded Evidence that give Findings. One file each; the list in
// analysis.cpp is the only place that names them all. Who calls: the engine after measuring.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "measure/finding.hpp"

namespace wb {

struct Analysis {
  std::string_view name;
  std::string_view about;
  std::vector<Finding> (*run)(const Evidence& evidence);
};

/// All analyses, in the order of the report.
std::span<const Analysis> analyses();

/// Runs them all; findings in order.
std::vector<Finding> analyze(const Evidence& evidence);

}  // namespace wb
