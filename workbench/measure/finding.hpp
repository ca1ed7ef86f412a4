// SPDX-License-Identifier: MIT
// The value types that analyses, session and report share: Evidence (what was observed), Finding (a
// fact with its evidence) and Hypothesis (a predicted gain and, at the end, its state).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "device/device.hpp"
#include "measure/statistics.hpp"
#include "problem/problem.hpp"

namespace wb::measure {

/// One observation on one problem, with the log events it rests on.
struct Observation {
  problem::Problem problem;
  std::string subject;
  PlanKind plan = PlanKind::hot;
  Measurement measurement;
  std::vector<std::int64_t> events;
  std::optional<GpuConditions> conditions = {};  ///< of its turns, on a GPU
};

/// One GPU kernel of a subject: what the compiler says of it, or what a tool saw of one launch in
/// one call. What the source does not tell is absent.
struct KernelFacts {
  std::string subject, kernel;
  std::string source;                       ///< "ptxas", "ncu", "torch.profiler", "table"
  std::optional<problem::Problem> problem;  ///< of the call; absent: of the compiled code
  std::optional<std::int64_t> blocks, threads_per_block;
  std::string grid, block;  ///< as the tool prints them: "(8, 32, 1)"; empty where it does not
  std::optional<std::int64_t> registers;                                  ///< of a thread
  std::optional<std::int64_t> static_shared_bytes, dynamic_shared_bytes;  ///< of a block
  std::optional<double> share_frac;       ///< of the time of the call's kernels
  std::map<std::string, double> metrics;  ///< of ncu: "name [unit]" in base units
  std::vector<std::string> advice;        ///< of ncu's rules, in its words
  std::vector<std::int64_t> events;
};

/// A look that gave nothing: who looked, at what, and why there is no answer.
struct BlindSpot {
  std::string subject, source, reason;
  std::vector<std::int64_t> events;
};

/// All that an analysis may look at. Pure input: no session, no clock.
struct Evidence {
  device::Device device;
  std::vector<Observation> observations;
  /// Of others in the same turns: rivals, the incumbent. A subject that stands here too is what the
  /// others are held against.
  std::vector<Observation> beside = {};
  double call_overhead_us = 0;  ///< an empty call through the same path, when measured
  std::vector<KernelFacts> kernels = {};
  std::vector<BlindSpot> blind_spots = {};
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

/// supported = faster and the prediction inside the interval or below it; refuted = faster, same or
/// slower, with the whole interval below the prediction: only data that exclude a prediction refute
/// it; undecided = ambiguous, an interval that holds the prediction of what is not faster, or no
/// valid measurement (none at all, or one without a finite interval).
HypothesisDecision decide(const Hypothesis& hypothesis, const std::optional<Comparison>& measured);

}  // namespace wb::measure
