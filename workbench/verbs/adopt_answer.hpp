// SPDX-License-Identifier: MIT
// The answer of `dispatch adopt`, row by row, and the figures of its trial sessions.
#pragma once

#include <string>
#include <string_view>

#include "catalogue/dispatch.hpp"
#include "core/json_fwd.hpp"
#include "problem/suite.hpp"
#include "session/view.hpp"

namespace wb::verbs {

/// One problem's row. `at`: index of the rule in the table, from 0.
Json adopt_row(const catalogue::DispatchRule& rule, std::size_t at,
               const problem::SuiteProblem& member, std::string_view outcome,
               const std::string& reason);

/// The hot comparisons of a session's baseline with each rival.
Json adopt_figures(const session::SessionView& view);

/// The closing reason of a trial session; its first word is the outcome, adopted or declined.
std::string adopt_reason(const Json& figures);

/// The rows as text for people.
std::string adopt_text(const Json& rows);

}  // namespace wb::verbs
