// SPDX-License-Identifier: MIT
// `advise --backtest`: asks for advice at each step of recorded climbs, with what was written from
// the climb and all that is younger than the step hidden, and holds the answers against what the
// climb did next.
#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::engine {
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

/// Hidden at each step: later events of the log; trials of other sessions that closed later;
/// figures and ideas whose source names the session, one that began later or one that is not below
/// the sessions root; ideas of that day and later ones. Known: which parameter turns a technique on
/// in a kernel, which is a fact about its sources.
///
/// Answer: climbs, steps, overall, after_register (the sums over climbs that began after the
/// youngest day of the shipped register, so nobody tuned on them), register_day, goals, text.
/// Errors: usage (no session), those of reading a session and of the catalogues.
Result<Json> backtest_json(const engine::Services& services,
                           const std::vector<std::string>& sessions);

// Of its answer's `steps`.

/// Shares and errors over the steps of one climb, or of all.
Json backtest_sums(const std::string& name, const Json& steps);
/// What was asked of the advice, and whether the sums over all climbs reach it.
Json backtest_goals(const Json& overall);
std::string backtest_text(const Json& made);

}  // namespace wb::verbs
