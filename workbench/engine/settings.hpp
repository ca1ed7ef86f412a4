// SPDX-License-Identifier: MIT
// The typed content of session_opened, each part with its JSON: suite, objective, budget, stop
// rules; and the objective's score over a suite, which decides about the incumbent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "measure/figures.hpp"
#include "measure/plan.hpp"
#include "problem/suite.hpp"
#include "session/list_prices.hpp"
#include "variant/variant.hpp"

namespace wb::engine {

enum class ObjectiveRule { geomean_speedup, weighted_time, one_problem };
std::string_view to_string(ObjectiveRule value);
std::optional<ObjectiveRule> parse_objective_rule(std::string_view word);

/// The rule that turns per-problem comparisons into one figure and decides about the incumbent.
struct Objective {
  ObjectiveRule rule = ObjectiveRule::geomean_speedup;
  measure::PlanKind plan = measure::PlanKind::hot;
  measure::Regime regime = measure::Regime::burst;
  /// The lowest allowed speedup on any problem of the suite (guard); 0: none.
  double min_speedup = 0;
  std::string problem;  ///< label; for rule one_problem
};
Json to_json(const Objective& objective);
Result<Objective> objective_from_json(const Json& json);

/// One problem's comparison, or nothing when the manifest excludes the problem (counts as 1).
struct ProblemScore {
  problem::SuiteProblem problem;
  std::optional<measure::Comparison> comparison;
  double incumbent_us = 0;      ///< median of the other side; for weighted_time
  double same_margin_frac = 0;  ///< NoiseFloor::between_instance_frac, which bounds `same`
  double candidate_us = 0;      ///< median
  /// Why fresh inputs or the other regime made it ambiguous (with_first_calls, combine_regimes).
  std::string veto = {};
};

/// The objective's comparison over the suite: speedup with interval and outcome. Floor and margin
/// are the weighted means over the problems. One problem without a valid interval makes the whole
/// ambiguous with NaN figures, so that a missing figure is never averaged away.
measure::Comparison score(const Objective& objective, std::span<const ProblemScore> scores);

/// The reason why this comparison may not change the incumbent; nothing when it may.
std::optional<std::string> refusal(const Objective& objective, const measure::Comparison& total,
                                   std::span<const ProblemScore> scores);

/// An absent member means no limit.
struct Budget {
  std::optional<std::int64_t> evaluations;  ///< iterations after the baseline
  std::optional<double> wall_s;             ///< since the session opened, pauses included
  std::optional<double> usd;
};
struct StopRules {
  std::optional<std::int64_t> plateau;         ///< successive iterations without a win
  std::optional<std::int64_t> equal_failures;  ///< successive failures with the same invalidity
};
Json to_json(const Budget& budget);
Json to_json(const StopRules& rules);
Result<Budget> budget_from_json(const Json& json);
Result<StopRules> stop_rules_from_json(const Json& json);

/// The typed content of session_opened.
struct SessionSettings {
  problem::Suite suite;
  Objective objective;
  Budget budget;
  StopRules stop;
  session::Prices prices;  ///< the session's own rates, else the list prices that it recorded
  std::string backend = "cpu", start_variant, effort = "standard", title;
  /// The stored variant that the session starts from, if any: its id and configuration.
  std::optional<std::pair<std::string, variant::Configuration>> stored_start;
  std::vector<std::string> rivals;
  /// Named by the user: the session does not open if one cannot run.
  bool are_rivals_asked_for = false;
};
Result<SessionSettings> settings_from_json(const Json& opened);
/// A/A floors by problem text and plan word.
using NoiseFloors = std::map<std::pair<std::string, std::string>, measure::NoiseFloor>;

/// Member `suite` of session_opened.
Json suite_json(const problem::Suite& suite);
Result<problem::Suite> suite_from_json(const Json& json);

}  // namespace wb::engine
