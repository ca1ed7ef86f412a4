// SPDX-License-Identifier: MIT
// Parts of answers for people: cells, tables, intervals. Each verb says in its own file how they
// make up its text; programs use --json instead.
#pragma once

#include <string>
#include <vector>

#include "core/json_fwd.hpp"

namespace wb::verbs {

/// A value as JSON, on one line unless indented. What a verb hands over may hold any bytes (a
/// source file, a compiler's words): those that are not UTF-8 become U+FFFD.
std::string json_text(const Json& value, int indent = -1);

/// A dash for null, four digits of a number.
std::string cell(const Json& value);
/// A plain table of these members of each item, columns as wide as their widest cell.
std::string rows_of(const Json& list, const std::vector<std::string>& keys);
/// " [low, high]"; empty where there is none.
std::string interval_text(const Json& interval);
/// A line for each of the answer's `notes`.
std::string notes_of(const Json& answer);
/// Of `iterate` and what searches.
std::string iteration_text(const Json& answer);
/// Of what searches: with the best of what it evaluated.
std::string search_text(const Json& answer);

}  // namespace wb::verbs
