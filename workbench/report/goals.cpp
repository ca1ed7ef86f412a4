// SPDX-License-Identifier: MIT
// What became of a session's goals, in words.
#include <fmt/format.h>

#include "report/phrases.hpp"
#include "report/report.hpp"
#include "session/goals.hpp"

namespace wb::report {

std::string goal_words(const session::Goal& goal, const session::GoalResult& result) {
  using session::GoalState;
  std::string out(to_string(result.state));
  if (result.state == GoalState::missed) {
    out += " by " + fixed(goal.at_least - *result.value, 3);
  }
  if (result.value) {
    const bool is_each = goal.form == session::Goal::Form::each;
    out +=
        fmt::format(": {}{}", is_each ? "the lowest is " : "",
                    speedup(Ratio{.value = result.value, .low = result.low, .high = result.high}));
    if (is_each) out += " on " + code(result.lowest, 60);
  }
  if (!result.reason.empty()) out += (result.value ? ", " : ": ") + result.reason;
  return out;
}

std::string goals_line(const Page& page) {
  std::string out;
  for (const auto& [goal, result] : session::goals_of(page.facts.view)) {
    out += fmt::format("{}{}: {}{}", out.empty() ? "" : "; ", code(goal.text, 160),
                       goal_words(goal, result), cite(result.events));
  }
  return out;
}

}  // namespace wb::report
