// SPDX-License-Identifier: MIT
// What the compiler's own record says against a build: spilled registers and ptxas' warnings of
// lost performance, as findings. Pure; who calls: the engine after a build that it logs.
#pragma once

#include <string_view>
#include <vector>

#include "measure/finding.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::analyze {

/// One finding for all that spills, one for each warning code; none for a clean record. `subject`
/// is the build's label. The caller fills in the events.
std::vector<measure::Finding> build_findings(const variant::PtxasRecord& record,
                                             std::string_view subject);

}  // namespace wb::analyze
