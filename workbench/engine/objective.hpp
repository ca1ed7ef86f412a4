// SPDX-License-Identifier: MIT
// The objective: the rule that turns per-problem comparisons into one figure and decides about the
// incumbent. Pure; the engine calls it, the report prints it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "measure/statistics.hpp"
#include "problem/suite.hpp"

namespace wb::engine {

enum class ObjectiveRule { geomean_speedup, weighted_time, one_problem };
std::string_view to_string(ObjectiveRule value);
std::optional<ObjectiveRule> parse_objective_rule(std::string_view word);

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

}  // namespace wb::engine
