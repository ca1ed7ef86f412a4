// SPDX-License-Identifier: MIT
// Questions of the engine to the program around it, which only Python can answer, as JSON both
// ways. bindings/sdpa_workbench/_program.py answers them; the command line and Lua have no such
// program. The bindings' simulation uses the same questions.
#pragma once

#include <functional>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "search/strategy.hpp"

namespace wb::search {

/// Blocks until there is an answer. Errors: those of the program; canceled.
using AskProgram = std::function<Result<Json>(const Json& question)>;

// Questions to a program with an executor (tune/evaluation_exchange.hpp):
//   {ask: "remote_capacity"} -> {in_flight}: 0 without one
//   {ask: "evaluate", number, request} -> {}: starts the evaluation
//   {ask: "replies", patience_s} -> {replies: [{number, text} or {number, fault}]}
//   {ask: "cancel"} -> {}: evaluations that are not running yet return a fault

/// The proposers of a program with Optuna; none without a program. Its questions:
///   {ask: "search", strategy, seed, parameters, in_flight} -> {search, about}
///   {ask: "propose", search, told: [{configuration, log_time, invalidity}], want}
///     -> {configurations}
MakeProposer proposers_of(AskProgram ask, std::int64_t in_flight);

}  // namespace wb::search
