// SPDX-License-Identifier: MIT
// Findings from the compiler's record of a build: spilled registers and ptxas' warnings of lost
// performance. Pure; the engine calls it after a build that it logs.
#pragma once

#include <string_view>
#include <vector>

#include "measure/finding.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::analyze {

/// One finding for all spills and one per warning code; none for a clean record. `subject` is the
/// build's label. The caller sets the events.
std::vector<measure::Finding> build_findings(const variant::PtxasRecord& record,
                                             std::string_view subject);

}  // namespace wb::analyze
