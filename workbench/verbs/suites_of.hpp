// SPDX-License-Identifier: MIT
// The problems that a verb's arguments select.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "engine/verb.hpp"
#include "problem/suite.hpp"

namespace wb::verbs {

/// All suites on the search path; the first file that defines a name wins.
Result<std::map<std::string, problem::Suite>> load_all_suites(const engine::Services& services);
/// The problems of the arguments `suite` and `problem`. Errors: not_found (with a did-you-mean),
/// parse.
Result<problem::Suite> suite_from_arguments(engine::Context& context, const Json& args);
/// The session's suite when inside one and none was named; else from the arguments.
Result<problem::Suite> problems_of(engine::Context& context, const Json& args);
/// The problems without held-out ones.
std::vector<problem::Problem> plain_problems(const problem::Suite& suite);

}  // namespace wb::verbs
