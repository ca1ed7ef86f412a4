// SPDX-License-Identifier: MIT
// Comma-separated values as rows of fields, for the readers of profiler reports and of tables of
// measured times.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wb {

/// Parses CSV as RFC 4180 defines it: quoted fields may hold commas, line ends and doubled quotes.
/// An unclosed quote ends with the text. Lines without a field are left out.
std::vector<std::vector<std::string>> parse_csv(std::string_view text);

}  // namespace wb
