// SPDX-License-Identifier: MIT
// The words that select problems: `n6`, `n6+short`, `prefill:fa_D64_*,gqa_*`.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "problem/suite.hpp"

namespace wb::verbs {

/// Suites joined by '+'. A ':' after a suite's name selects its problems by comma-separated names,
/// which may hold shell wildcards; the suite's order is kept. HeldFigure-out problems are always
/// included. The result's name is the given text. Errors: not_found (no such suite; a name that no
/// problem has).
Result<problem::Suite> select_problems(const std::map<std::string, problem::Suite>& suites,
                                       std::string_view words);

}  // namespace wb::verbs
