// SPDX-License-Identifier: MIT
// What the program that uses an engine does for it: the questions that only Python can answer, as
// JSON both ways. bindings/sdpa_workbench/_program.py answers them; the command line and Lua have
// no such program. The simulation in the bindings asks the same way.
#pragma once

#include <functional>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "search/strategy.hpp"

namespace wb::search {

/// Blocks until there is an answer. Errors: those of the program; canceled.
using AskProgram = std::function<Result<Json>(const Json& question)>;

// Of a program that has an executor (tune_crew.hpp):
//   {ask: "crew_size"} -> {in_flight}: 0 where it has none
//   {ask: "evaluate", number, request} -> {}: is evaluated from now on
//   {ask: "replies", patience_s} -> {replies: [{number, text} or {number, fault}]}
//   {ask: "cancel"} -> {}: what does not run yet comes back as a fault

/// The proposers of a program that has Optuna. Its questions:
///   {ask: "search", strategy, seed, parameters, in_flight} -> {search, about}
///   {ask: "propose", search, told: [{configuration, log_time, invalidity}], want}
///     -> {configurations}
/// Without a program: no proposers.
MakeProposer proposers_of(AskProgram ask, std::int64_t in_flight);

}  // namespace wb::search
