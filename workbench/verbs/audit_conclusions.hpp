// SPDX-License-Identifier: MIT
// Sentences of a session's report held against what came of the session: what it recommends, what
// it says is lost, and what it advises against.
#pragma once

#include <string>

#include "outcome/outcome.hpp"
#include "verbs/audit_session.hpp"

namespace wb::verbs {

/// A sentence that the outcome contradicts becomes a finding of this severity. Pages of older
/// versions are read as well.
void check_conclusions(const std::string& file, const std::string& page,
                       const outcome::Outcome& made, audit::Severity severity,
                       SessionAudit& audited);

}  // namespace wb::verbs
