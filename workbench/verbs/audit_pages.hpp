// SPDX-License-Identifier: MIT
// Lines of pages: a stored page compared with the page rendered from the log, and what stands in a
// line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

namespace reading {

bool is_of_word(char c);  ///< of a name: a letter, a digit or _
bool has(std::string_view text, std::string_view part);
/// True when the name stands there by itself, not as a part of a longer one.
bool names(std::string_view text, std::string_view name);
/// What stands behind the lead; nothing where the text does not begin with it.
std::optional<std::string_view> behind(std::string_view text, std::string_view lead);
/// The whole number that the text begins with; the text goes on behind it.
std::optional<std::size_t> take_count(std::string_view& text);
/// "8 of 11" at the beginning of the text.
std::optional<std::pair<std::size_t, std::size_t>> share_in(std::string_view text);
/// The whole number right before the first of these words: 8 in "baseline and 8 iterations".
std::optional<std::size_t> count_before(std::string_view text, std::string_view part);
/// The cells of a row of a table, without the spaces around them.
std::vector<std::string_view> cells_of(std::string_view row);
/// What stands between backticks in a line.
std::vector<std::string_view> code_in(std::string_view line);

}  // namespace reading

}  // namespace wb::verbs
