// SPDX-License-Identifier: MIT
// Answers one question of another process's search on this process's device.
#pragma once

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "tune/evaluation_exchange.hpp"

namespace wb::engine {
struct Context;
class Engine;
}  // namespace wb::engine

namespace wb::tune {

/// Answers it with this process's compiler. Sets the context's settings and floors. Errors:
/// environment (a different device or version than requested, no worker), canceled.
Result<EvaluationReply> evaluate_request(engine::Context& context,
                                         const EvaluationRequest& request);

/// The same with JSON, for an engine that holds no session; keeps nothing. Errors: usage (a session
/// is held), parse, invalid (no such request), those of evaluate_request() and of the log.
Result<Json> evaluate(engine::Engine& engine, const Json& request);

}  // namespace wb::tune
