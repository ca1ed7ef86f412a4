// SPDX-License-Identifier: MIT
// The value types that analyses, session and report share: Evidence (what was observed), Finding (a
// fact with its evidence) and Hypothesis (a predicted gain and, at the end, its state).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "measure/statistics.hpp"
#include "problem/problem.hpp"

namespace wb {

/// One observation on one problem, with the log events it rests on.
struct Observation {
  Problem problem;
  std::string subject;
  PlanKind plan = PlanKind::hot;
  Measurement measurement;
  std::vector<std::int64_t> events;
  std::optional<GpuConditions> conditions = {};  ///< of its turns, on a GPU
};

/// All that an analysis may look at. Pure input: no session, no clock.
struct Evidence {
  Device device;
  std::vector<Observation> observations;
  std::vector<Observation> beside = {};  ///< of others in the same turns; without times
  double call_overhead_us = 0;           ///< an empty call through the same path, when measured
};

struct Finding {
  std::string analysis;   ///< which analysis says so ("roofline", "regime", …)
  std::string statement;  ///< one sentence with its figures
  std::string problem;    ///< label; empty: of the whole suite
  Json figures;           ///< numbers by name, units in the names
  std::vector<std::int64_t> events;
  std::string unseen;  ///< what it could not see, empty when nothing
};
Json to_json(const Finding& finding);
Result<Finding> finding_from_json(const Json& json);

enum class HypothesisState { open, supported, refuted, undecided };
std::string_view to_string(HypothesisState value);
std::optional<HypothesisState> parse_hypothesis_state(std::string_view word);

struct Hypothesis {
  std::string theory;            ///< why this change should help, one sentence
  double predicted_speedup = 0;  ///< ratio on the objective's figure, finite and > 0

  friend bool operator==(const Hypothesis&, const Hypothesis&) = default;
};
Json to_json(const Hypothesis& hypothesis);
/// Refuses an empty theory and a prediction that is not finite and > 0.
Result<Hypothesis> hypothesis_from_json(const Json& json);

struct HypothesisDecision {
  HypothesisState state = HypothesisState::open;
  std::string reason;
};
Json to_json(const HypothesisDecision& decision);
Result<HypothesisDecision> hypothesis_decision_from_json(const Json& json);

/// The rule of design section 3: supported = faster and the prediction inside the interval or below
/// it; refuted = slower, same, or an interval wholly below the prediction (whatever the outcome
/// word: data that exclude the prediction refute it); undecided = otherwise ambiguous, or no valid
/// measurement (none at all, or one without a finite interval).
HypothesisDecision decide(const Hypothesis& hypothesis, const std::optional<Comparison>& measured);

}  // namespace wb
