// SPDX-License-Identifier: MIT
// One question of a search that another process owns, answered on this process's device.
#pragma once

#include "core/json_fwd.hpp"
#include "engine/call.hpp"
#include "tune/evaluation_exchange.hpp"

namespace wb::tune {

/// Answers it by this process's compiler. Sets the context's settings and floors. Errors:
/// environment (another device or version than asked for, no worker), canceled.
Result<EvaluationReply> evaluate_request(engine::Context& context,
                                         const EvaluationRequest& request);

/// The same by JSON, for an engine that holds no session; it keeps nothing. Errors: usage (a
/// session is held), parse, invalid (no such request), those of evaluate_request() and of the log.
Result<Json> evaluate(engine::Engine& engine, const Json& request);

}  // namespace wb::tune
