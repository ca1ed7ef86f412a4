// SPDX-License-Identifier: MIT
// Compares a stored page with the page rendered from the log, line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "verbs/audit_session.hpp"

namespace wb::verbs {

/// The lines without their line ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// Adds findings for figures that differ between `printed`, the stored page, and `said`, the page
/// from the log, with the events that each line cites. Pages with different line counts are
/// compared up to the first difference.
void compare_pages(const std::string& file, const std::string& printed, const std::string& said,
                   audit::Severity severity, std::string_view meaning, SessionAudit& audited);

}  // namespace wb::verbs
