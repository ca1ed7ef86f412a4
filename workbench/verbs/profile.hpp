// SPDX-License-Identifier: MIT
// A tool's result on one problem as a row of an answer, for `profile` and `sanitize`.
#pragma once

#include "core/invalidity.hpp"
#include "core/json_fwd.hpp"
#include "engine/verb.hpp"
#include "problem/problem.hpp"
#include "protocol/protocol.hpp"

namespace wb::verbs {

/// problem, outcome (taken, not_available or an invalidity), message.
Json profile_row(const problem::Problem& problem, const Outcome<protocol::ProfileResult>& result);

/// The verb `profile`, also called by `diagnose --measure`. Uses `variant`, `suite`, `problem` and
/// `configuration` of `args`. Errors: those of builds and of the log.
Result<Json> profile_variant(engine::Context& context, const Json& args);

}  // namespace wb::verbs
