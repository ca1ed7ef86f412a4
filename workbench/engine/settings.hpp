// SPDX-License-Identifier: MIT
// What session_opened says, typed, how much of each phase an effort asks for, and the noise floors
// that comparisons of a session go by.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_fwd.hpp"
#include "engine/budget.hpp"
#include "engine/objective.hpp"
#include "measure/plan.hpp"
#include "measure/statistics.hpp"
#include "problem/suite.hpp"
#include "session/ledger.hpp"
#include "variant/variant.hpp"

namespace wb::engine {

/// How much of each phase, from the word of `effort`.
struct EffortPlan {
  measure::Effort selection, confirmation;
  measure::Plan plan;                ///< of one turn; kind is set per use
  std::int64_t other_instances = 0;  ///< of TimingRequest
};
EffortPlan effort_plan(std::string_view word);
/// What the device did before a turn.
enum class DeviceWas { idle, busy };
/// The turn of a hot plan in that regime. Sustained: the subject's own calls for two seconds first,
/// a fifth of a second where the device comes from such a turn, so that power and temperature are
/// those of lasting work, and a fifth of a second timed (tests/bench/settling.py: 60 ms settle).
measure::Plan in_regime(measure::Plan plan, measure::Regime regime, DeviceWas device);
/// The arguments `plan` and `regime`. Errors: usage (a regime of another plan than hot).
Result<std::pair<measure::PlanKind, measure::Regime>> how_to_time(const Json& args);

/// What session_opened says, typed.
struct SessionSettings {
  problem::Suite suite;
  Objective objective;
  Budget budget;
  StopRules stop;
  session::Rates rates;
  std::string backend = "cpu", start_variant, effort = "standard", title;
  /// What the session goes on from, when that is a stored variant: its id and configuration.
  std::optional<std::pair<std::string, variant::Configuration>> stored_start;
  std::vector<std::string> rivals;
  bool are_rivals_asked_for = false;  ///< named by the user: no session without one that cannot run
};
Result<SessionSettings> settings_from_json(const Json& opened);
/// A/A floors by problem text and plan word.
using NoiseFloors = std::map<std::pair<std::string, std::string>, measure::NoiseFloor>;

/// Member `suite` of session_opened.
Json suite_json(const problem::Suite& suite);
Result<problem::Suite> suite_from_json(const Json& json);

}  // namespace wb::engine
