// SPDX-License-Identifier: MIT
// A kept page beside the one that the log gives, line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "verbs/audit_session.hpp"

namespace wb::verbs {

/// Without their line ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// Told line by line where the two have as many lines, else up to where they part: the figures that
/// differ, and the events that the line cites. `printed` is the page as kept, `said` as the log has
/// it.
void compare_pages(const std::string& file, const std::string& printed, const std::string& said,
                   audit::Severity severity, std::string_view meaning, SessionAudit& audited);

}  // namespace wb::verbs
