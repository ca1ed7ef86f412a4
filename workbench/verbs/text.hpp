// SPDX-License-Identifier: MIT
// Parts of answers as text for people: cells, tables, intervals. Each verb's file composes its text
// from them; programs use --json.
#pragma once

#include <string>
#include <vector>

#include "core/json_fwd.hpp"

namespace wb::verbs {

/// A value as JSON, on one line unless indented. Bytes that are not UTF-8 (from a source file or a
/// compiler's output) become U+FFFD.
std::string json_text(const Json& value, int indent = -1);

/// A dash for null; numbers with four digits.
std::string cell(const Json& value);
/// A plain table of these members of each item; columns are as wide as their widest cell.
std::string rows_of(const Json& list, const std::vector<std::string>& keys);
/// " [low, high]"; empty without an interval.
std::string interval_text(const Json& interval);
/// One line for each of the answer's `notes`.
std::string notes_of(const Json& answer);
/// For `iterate` and searching verbs.
std::string iteration_text(const Json& answer);
/// For searching verbs: with the best of the evaluated configurations.
std::string search_text(const Json& answer);

}  // namespace wb::verbs
