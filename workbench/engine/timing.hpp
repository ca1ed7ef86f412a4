// SPDX-License-Identifier: MIT
// The timing stage: who is timed on what, and the turns, each of them an event.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/lanes.hpp"
#include "measure/first_calls.hpp"
#include "measure/plan.hpp"
#include "measure/statistics.hpp"
#include "problem/problem.hpp"

namespace wb::engine {

struct Context;
struct Subject;

/// The subjects' processes of one instance: unloaded when this goes out of scope.
class SubjectProcesses {
 public:
  explicit SubjectProcesses(Context& context) : m_context(context) {}
  SubjectProcesses(const SubjectProcesses&) = delete;
  SubjectProcesses& operator=(const SubjectProcesses&) = delete;
  ~SubjectProcesses();
  std::vector<std::optional<std::int64_t>> handles;  ///< by subject of the request

 private:
  Context& m_context;
};

/// Of an ABBA round: a search may stop after the first half, which has each subject once.
enum class RoundPart { whole, first_half, second_half };

struct TimingRequest {
  std::vector<const Subject*> subjects;  ///< interleaved; the same subject may stand twice (A/A)
  std::vector<problem::Problem> problems;
  std::vector<measure::PlanKind> plans;
  measure::Effort effort;
  std::int64_t other_instances = 0;  ///< of plans that decide nothing; 0: as many as the others
  measure::Plan plan;                ///< of a burst
  measure::Regime regime = measure::Regime::burst;  ///< of hot turns; the other plans have none
  std::string phase;  ///< "baseline", "selection", "confirmation", "tune"
  std::int64_t first_instance = 0, first_round = 0;  ///< where their numbers start
  RoundPart part = RoundPart::whole;                 ///< of every round
  bool fresh_calls = true;                           ///< as protocol::TurnArgs has it
  /// Whether first calls on fresh inputs are taken where subject 0 is ahead of another: wherever
  /// `faster` is going to be told.
  bool first_calls = false;
  /// Of one instance: the subjects that it has no process for yet are loaded, and all are left
  /// running for a later request with the same subjects.
  SubjectProcesses* kept = nullptr;
};
struct TimingResult {
  /// [problem][plan][subject]
  std::vector<std::vector<std::vector<Lane>>> lanes;
  /// [problem]: first and last turn event
  std::vector<std::pair<std::int64_t, std::int64_t>> events;
  /// [problem][subject]: subject 0 beside it; empty where it was not ahead
  std::vector<std::vector<measure::FirstCallPairs>> first_calls = {};
};
/// Fresh processes for each instance, ABBA turns, every turn an event. A subject that does not take
/// a problem has an empty lane; of half a round the caller says whether it had a clean turn, once
/// it has joined the halves. Errors: only those of the log and canceled.
Result<TimingResult> time_subjects(Context& context, const TimingRequest& request);

}  // namespace wb::engine
