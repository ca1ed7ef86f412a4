// SPDX-License-Identifier: MIT
// Private to engine: the timing stage (bench.cpp) and what is made of its lanes (comparing.cpp):
// who is timed on what, the turns, comparisons and their events.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/context.hpp"
#include "measure/first_calls.hpp"

namespace wb::engine {

/// One subject's turns on one problem under one plan.
struct Lane {
  std::vector<measure::Turn> turns;
  /// The flags of turns that were left out (is_disturbed) where a place had no clean one.
  std::set<std::string, std::less<>> disturbed_by;
  std::optional<Failure> failure;  ///< the subject failed here; it has no figure
};
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
/// Times below the roofline were not measured: such a lane has no figure.
void refuse_impossible(const Context& context, const problem::Problem& problem,
                       measure::PlanKind plan, Lane& lane);
/// A lane with no clean turn has no figure, and the machine is at fault.
void fail_if_disturbed(Lane& lane);
/// Fresh processes for each instance, ABBA turns, every turn an event. A subject that does not take
/// a problem has an empty lane; of half a round the caller says whether it had a clean turn, once
/// it has joined the halves. Errors: only those of the log and canceled.
Result<TimingResult> time_subjects(Context& context, const TimingRequest& request);

// first_calls.cpp
/// After an instance's turns on a problem, while its processes live: first calls of subject 0 and
/// of those that it is ahead of, an event. Errors: only those of the log.
Result<void> take_first_calls(Context& context, const TimingRequest& request, std::size_t problem,
                              std::int64_t instance, SubjectProcesses& processes,
                              TimingResult& result);
/// Once all turns are taken: subject 0 fails where its timed calls leave out work.
void refuse_left_out_work(const TimingRequest& request, TimingResult& result,
                          measure::PlanKind objectives_plan);
/// What fresh inputs say of subject 0 beside another under one plan; nothing where nothing is to be
/// said: it is not ahead, or first calls were not asked for.
std::optional<measure::FreshOutcome> fresh_outcome(const TimingRequest& request,
                                                   const TimingResult& result, std::size_t problem,
                                                   std::size_t plan, std::size_t subject,
                                                   measure::PlanKind objectives_plan,
                                                   const measure::Comparison& comparison);

/// Compares two lanes by the session's floors; ambiguous with the reason when one failed, is empty
/// or lies below the roofline. With an ask: at the confidence that its strategy wants.
measure::Comparison compare_lanes(const Context& context, const problem::Problem& problem,
                                  measure::PlanKind plan, const Lane& candidate,
                                  std::string_view candidate_label, const Lane& other,
                                  std::string_view other_label, const search::Ask* ask = nullptr);

/// NoiseFloor::between_instance_frac of the problem and plan; 0 when it was not measured.
double same_margin(const Context& context, const problem::Problem& problem, measure::PlanKind plan);

struct ComparisonContext {
  const TimingRequest& request;  ///< whose phase, and regime where no iteration says it, are logged
  std::string role;              ///< "incumbent" or "rival"
  measure::PlanKind plan = measure::PlanKind::hot;
  std::pair<std::int64_t, std::int64_t> turns;
  std::vector<std::string> flags;  ///< of any turn of either side
  Json conditions = {};            ///< of the two sides' turns (conditions_of); null: no GPU
  Json regimes = {};               ///< BothRegimes::figures; null: timed in one only
  Json fresh = {};                 ///< of a FreshOutcome; null: nothing to be said
};
/// {candidate, against}: GpuConditions of all turns of each that count.
Json conditions_of(const Lane& candidate, const Lane& against);
/// Of all the lane's turns that count; nothing where there are none on a GPU.
std::optional<measure::GpuConditions> conditions_of(const Lane& lane);
std::vector<std::string> flags_of(const Lane& one, const Lane& other);  ///< sorted, each once
/// Logs comparison_made. problem empty: the objective over the suite.
Result<std::int64_t> log_comparison(Context& context, const measure::Comparison& comparison,
                                    const std::optional<problem::Problem>& problem,
                                    const ComparisonContext& where, double candidate_us,
                                    double against_us);
/// NaN where no turn counts: nothing was measured, and 0 would be a figure.
double lane_median_us(const Lane& lane);
/// The figure, or null where it is none: not finite, or not above 0.
Json figure_or_null(double value);
/// Why there is no figure; empty where there is one.
std::string why_no_figure(const Lane& lane);
/// Two lanes of the same code in one list, numbered as the distinct processes they are.
std::vector<measure::Turn> same_code_turns(const Lane& first, const Lane& second);

/// One opponent over the suite under one plan.
struct SuiteScore {
  measure::PlanKind plan;
  std::size_t subject;  ///< of TimingRequest::subjects; 1 is the incumbent, 2… are rivals
  std::vector<ProblemScore> scores;
  measure::Comparison total;
  bool is_logged = true;  ///< not of a rival that does not take the whole suite
};
struct OtherRegime;  // regimes.hpp
/// Compares subject 0 with the subjects from `first_opponent` on: on every problem and plan, then
/// over the suite; each is a comparison_made event. The comparison that decides, with the incumbent
/// under the objective's plan, comes last in the log. `other`: decides with it, problem by problem.
Result<std::vector<SuiteScore>> log_comparisons(Context& context, const TimingRequest& request,
                                                const TimingResult& result,
                                                std::size_t first_opponent,
                                                const OtherRegime* other = nullptr);

}  // namespace wb::engine
