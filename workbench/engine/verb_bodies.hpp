// SPDX-License-Identifier: MIT
// Private to engine: the bodies of the verbs that need a context or a session, as verb_table.cpp
// lists them, and what they share about problems. Their arguments are checked before.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/context.hpp"

namespace wb::engine {

Result<Json> verb_open(Context& context, const Json& args, const fs::path& folder);
Result<Json> verb_iterate(Context& context, const Json& args);
Result<Json> verb_tune(Context& context, const Json& args);
Result<Json> verb_race(Context& context, const Json& args);
Result<Json> verb_build(Context& context, const Json& args);
/// Whether the arguments of `show` ask for code: one of source, ptx and sass.
bool asks_for_code(const Json& args);
/// `session` may be null: then the id is a kernel's name. Nothing is logged.
Result<Json> verb_show_code(Context& context, const session::Session* session, const Json& args);
/// The session's suite when inside one and none was named; else from the arguments.
Result<problem::Suite> problems_of(Context& context, const Json& args);
/// Without held-out ones.
std::vector<problem::Problem> plain_problems(const problem::Suite& suite);
/// Only what passed its verdict may be timed. Errors: wrong_result, environment; those of the log.
Result<std::vector<Judgement>> judge_or_fail(Context& context, const Subject& subject,
                                             const std::vector<problem::Problem>& problems,
                                             Refusal refusal = Refusal::fails);
Result<Json> verb_check(Context& context, const Json& args);
Result<Json> verb_measure(Context& context, const Json& args);
Result<Json> verb_compare(Context& context, const Json& args);
Result<Json> verb_profile(Context& context, const Json& args);
Result<Json> verb_sanitize(Context& context, const Json& args);
Result<Json> verb_status(const session::Session& session, const Clock& clock);
Result<Json> verb_show(const session::Session& session, const Json& args);
Result<Json> verb_doctor(Context& context);
Result<Json> verb_suites(Context& context, const Json& args);
Result<Json> verb_kernels(Context& context, const Json& args);

/// The problems of `suite`/`problem` arguments. Errors: not_found (with a did-you-mean), parse.
Result<problem::Suite> suite_from_arguments(Context& context, const Json& args);
/// All suites on the search path; the first file that defines a name wins.
Result<std::map<std::string, problem::Suite>> load_all_suites(const Services& services);

}  // namespace wb::engine
