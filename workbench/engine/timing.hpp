// SPDX-License-Identifier: MIT
// The timing stage: how much is measured, which subjects are timed on which problems, and the
// turns, each an event.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "measure/figures.hpp"
#include "measure/first_calls.hpp"
#include "measure/plan.hpp"
#include "problem/problem.hpp"

namespace wb::engine {

struct Context;
struct Subject;

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

/// The subjects' processes of one instance; unloaded by the destructor.
class SubjectProcesses {
 public:
  explicit SubjectProcesses(Context& context) : m_context(context) {}
  SubjectProcesses(const SubjectProcesses&) = delete;
  SubjectProcesses& operator=(const SubjectProcesses&) = delete;
  ~SubjectProcesses();
  std::vector<std::optional<std::int64_t>> handles;  ///< by index of the subject in the request

 private:
  Context& m_context;
};

/// Part of an ABBA round: a search may stop after the first half, which has each subject once.
enum class RoundPart { whole, first_half, second_half };

struct TimingRequest {
  std::vector<const Subject*> subjects;  ///< interleaved; the same subject may appear twice (A/A)
  std::vector<problem::Problem> problems;
  std::vector<measure::PlanKind> plans;
  measure::Effort effort;
  std::int64_t other_instances = 0;  ///< for plans that decide nothing; 0: as many as the others
  measure::Plan plan;                ///< the plan of a burst
  measure::Regime regime = measure::Regime::burst;  ///< of hot turns; other plans have none
  std::string phase;  ///< "baseline", "selection", "confirmation", "tune"
  std::int64_t first_instance = 0, first_round = 0;  ///< first numbers of instances and rounds
  RoundPart part = RoundPart::whole;                 ///< of every round
  bool fresh_calls = true;                           ///< protocol::TurnArgs::fresh_calls
  /// Take first calls on fresh inputs where subject 0 leads another; needed wherever `faster` may
  /// be reported.
  bool first_calls = false;
  /// Processes to reuse for one instance: missing subjects are loaded, and all are left running for
  /// a later request with the same subjects.
  SubjectProcesses* kept = nullptr;
};

/// One subject's turns on one problem under one plan.
struct Lane {
  std::vector<measure::Turn> turns;
  /// Flags of left-out turns (is_disturbed) in cells without a clean turn.
  std::set<std::string, std::less<>> disturbed_by;
  std::optional<Failure> failure;  ///< the subject failed, so the lane has no figure
};

struct TimingResult {
  /// [problem][plan][subject]
  std::vector<std::vector<std::vector<Lane>>> lanes;
  /// [problem]: first and last turn event
  std::vector<std::pair<std::int64_t, std::int64_t>> events;
  /// [problem][subject]: subject 0 beside it; empty where subject 0 does not lead
  std::vector<std::vector<measure::FirstCallPairs>> first_calls = {};
};
/// Runs ABBA turns in fresh processes per instance; every turn is an event. An unsupported problem
/// gives an empty lane. After half a round the caller checks for clean turns, once it has joined
/// the halves. Errors: only those of the log and canceled.
Result<TimingResult> time_subjects(Context& context, const TimingRequest& request);

}  // namespace wb::engine
