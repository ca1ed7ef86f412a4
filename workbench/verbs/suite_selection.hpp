// SPDX-License-Identifier: MIT
// The words that choose problems: `n6`, `n6+short`, `prefill:fa_D64_*,gqa_*`.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "problem/suite.hpp"

namespace wb::verbs {

/// Suites joined by '+'. A ':' after a suite's name takes only its problems with one of the names
/// that follow, with commas between and the wildcards of a shell; in the suite's order. Held-out
/// problems have no say in that and always stay. The result is named as it was asked for. Errors:
/// not_found (no such suite; a name that no problem has).
Result<problem::Suite> select_problems(const std::map<std::string, problem::Suite>& suites,
                                       std::string_view words);

}  // namespace wb::verbs
