// SPDX-License-Identifier: MIT
// Private to audit: totals, means and ratios of tables that no check judged.
#pragma once

#include <string>
#include <vector>

#include "audit/facts.hpp"

namespace wb::audit {

/// In sentences; empty when every such figure was judged.
std::vector<std::string> unjudged_figures(const Facts& facts, const Notes& notes);

}  // namespace wb::audit
