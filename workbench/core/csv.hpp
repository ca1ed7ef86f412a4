// SPDX-License-Identifier: MIT
// Comma-separated values as rows of fields. Who calls: the readers of profilers' reports and of
// tables of measured times.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wb {

/// Fields of comma-separated values as RFC 4180 has them: quotes may hold commas, line ends and
/// doubled quotes. An open quote ends with the text. Lines without a field are left out.
std::vector<std::vector<std::string>> parse_csv(std::string_view text);

}  // namespace wb
