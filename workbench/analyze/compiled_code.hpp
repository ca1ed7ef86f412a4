// SPDX-License-Identifier: MIT
// Findings from the compiler's record of a build: spilled registers and ptxas' warnings of lost
// performance, which the engine logs after a build; and which problems a kernel of it may be for.
// Pure.
#pragma once

#include <string_view>
#include <vector>

#include "measure/finding.hpp"
#include "problem/problem.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::analyze {

/// One finding for all spills and one per warning code; none for a clean record. `subject` is the
/// build's label. The caller sets the events.
std::vector<measure::Finding> build_findings(const variant::PtxasRecord& record,
                                             std::string_view subject);

/// Whether a kernel of this name can be the one for that problem: dtypes that its template names
/// have the problem's among them, and so have its numbers a head dimension that holds the
/// problem's. True where it names neither.
bool may_serve(std::string_view kernel, const problem::Problem& problem);

}  // namespace wb::analyze
