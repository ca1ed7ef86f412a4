// SPDX-License-Identifier: MIT
// What a tool said of one problem as a row of an answer: for `profile` and `sanitize`.
#pragma once

#include "core/invalidity.hpp"
#include "core/json_fwd.hpp"
#include "engine/call.hpp"
#include "problem/problem.hpp"
#include "protocol/protocol.hpp"

namespace wb::verbs {

/// problem, outcome (taken, not_available or an invalidity), message.
Json look_row(const problem::Problem& problem, const Outcome<protocol::ProfileResult>& result);

/// The verb `profile`, which `diagnose --measure` calls too: `variant`, `suite`, `problem` and
/// `configuration` of `args`. Errors: those of builds and of the log.
Result<Json> profile_variant(engine::Context& context, const Json& args);

}  // namespace wb::verbs
