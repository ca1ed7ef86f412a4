// SPDX-License-Identifier: MIT
// Goals of a session, such as "geomean >= 1.2 over torch_default on fa_D64_*": read from text, held
// against what was measured. Used by open (check), status and report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/view.hpp"

namespace wb::session {

inline constexpr std::string_view k_over_start = "start", k_over_fastest = "fastest";

struct Goal {
  enum class Form { geomean, each };  ///< the geometric mean of the problems' speedups, or each one
  std::string text;
  Form form = Form::geomean;
  double at_least = 1;
  std::string over;             ///< a rival, k_over_start or k_over_fastest (of the rivals)
  std::vector<std::string> on;  ///< shell patterns of problem names; empty: all problems
  /// "prefill:fa_D64_*": problems of other suites, as `--suite` selects them; empty: of the
  /// session's
  std::string outside;
};
/// FORM >= NUMBER over RIVAL [on PATTERN,PATTERN], or on SUITE:PATTERN,PATTERN of other suites.
/// Errors: usage, with what was expected where.
Result<Goal> parse_goal(std::string_view text);
/// Goals joined by ';'.
Result<std::vector<Goal>> parse_goals(std::string_view text);

/// The texts of the problems that a goal is about, from the suite of session_opened.
std::vector<std::string> problems_of_goal(const Goal& goal, const Json& suite);
/// The same of a goal about other suites, from `goal_problems` of session_opened.
std::vector<std::string> problems_outside(const Goal& goal, const Json& goal_problems);

/// A measured speedup of one candidate over one other, on one problem.
struct GoalFigure {
  std::string candidate, against, problem;
  double speedup = 0;
  std::optional<double> low, high;  ///< ends of its interval
  std::vector<std::int64_t> events;
};

enum class GoalState { reached, missed, undecided };
std::string_view to_string(GoalState value);

struct GoalResult {
  GoalState state = GoalState::undecided;
  /// The geometric mean, or of `each` the smallest speedup; nothing without a figure.
  std::optional<double> value, low, high;
  std::string lowest;              ///< the problem with the smallest speedup; goals_of(): its name
  std::size_t known = 0, all = 0;  ///< problems with a figure, and all of the goal's
  std::string reason;              ///< why it is undecided
  std::vector<std::int64_t> events;
};

/// On each problem the best candidate counts; a later figure of the same pair replaces an earlier
/// one. Decided is what the interval decides: it lies wholly at or above the goal, or wholly below.
/// Problems are taken as independent, so the interval of a mean is narrower than theirs. A problem
/// without a figure leaves a mean undecided.
GoalResult evaluate(const Goal& goal, const std::vector<std::string>& problems,
                    const std::vector<GoalFigure>& figures);

/// The figures of a view that may decide goals: under the objective's plan and regime, of baseline,
/// confirmations and comparisons outside iterations; over `start` the product of the confirmed
/// steps. Selection and search decide nothing.
std::vector<GoalFigure> goal_figures(const SessionView& view);

/// The goals that session_opened holds, each with its result.
std::vector<std::pair<Goal, GoalResult>> goals_of(const SessionView& view);
/// {goal, state, value, low, high, short_by (of the goal, where it is missed), lowest, known, all,
/// reason, events}.
Json to_json(const Goal& goal, const GoalResult& result);

}  // namespace wb::session
