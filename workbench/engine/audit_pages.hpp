// SPDX-License-Identifier: MIT
// Private to the audit of sessions: a kept page beside the one that the log gives, line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/audit_verb.hpp"

namespace wb::engine {

/// Without their line ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// Told line by line where the two have as many lines, else up to where they part: the figures that
/// differ, and the events that the line cites. `printed` is the page as kept, `said` as the log has
/// it.
void compare_pages(const std::string& file, const std::string& printed, const std::string& said,
                   audit::Severity severity, std::string_view meaning, SessionAudit& audited);

}  // namespace wb::engine
