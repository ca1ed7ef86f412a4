// SPDX-License-Identifier: MIT
// The typed content of session_opened, the amount of measuring per effort, and the noise floors of
// a session's comparisons.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_fwd.hpp"
#include "engine/objective.hpp"
#include "engine/spending.hpp"
#include "measure/plan.hpp"
#include "measure/statistics.hpp"
#include "problem/suite.hpp"
#include "session/ledger.hpp"
#include "variant/variant.hpp"

namespace wb::engine {

/// The amount of measuring in each phase, for one word of `effort`.
struct EffortPlan {
  measure::Effort selection, confirmation;
  measure::Plan plan;                ///< of one turn; kind is set per use
  std::int64_t other_instances = 0;  ///< TimingRequest::other_instances
};
EffortPlan effort_plan(std::string_view word);
/// The state of the device before a turn.
enum class PriorDeviceState { idle, busy };
/// The turn of a hot plan in that regime. Sustained: the subject's own calls run first, for 2 s
/// (0.2 s when the device was busy with such a turn), so that power and temperature are those of
/// lasting work; then 0.2 s are timed (tests/bench/settling.py: 60 ms settle).
measure::Plan in_regime(measure::Plan plan, measure::Regime regime, PriorDeviceState device);
/// Reads the arguments `plan` and `regime`. Errors: usage (a regime with a plan other than hot).
Result<std::pair<measure::PlanKind, measure::Regime>> plan_and_regime(const Json& args);

/// The typed content of session_opened.
struct SessionSettings {
  problem::Suite suite;
  Objective objective;
  Budget budget;
  StopRules stop;
  session::Rates rates;
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
