// SPDX-License-Identifier: MIT
// What `dispatch adopt` answers, row by row, and what the figures of a trial
// come to.
#pragma once

#include <string>
#include <string_view>

#include "catalogue/dispatch.hpp"
#include "problem/suite.hpp"
#include "session/view.hpp"

namespace wb::verbs {

/// One problem's row. `at`: the rule's place in the table, from 0.
Json adopt_row(const catalogue::DispatchRule& rule, std::size_t at,
               const problem::SuiteProblem& member, std::string_view outcome,
               const std::string& reason);

/// The hot comparisons of a session's baseline with each rival.
Json adopt_figures(const session::SessionView& view);

/// Why the session of the trial is closed: its first word is the outcome, adopted or declined.
std::string adopt_reason(const Json& figures);

/// The rows for people.
std::string adopt_text(const Json& rows);

}  // namespace wb::verbs
