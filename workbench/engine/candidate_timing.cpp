// SPDX-License-Identifier: MIT
// Stages 5 and 6 of an iteration. On a GPU a compute-bound problem is also confirmed in the regime
// that the objective does not name, because clocks under lasting load may favor another kernel;
// combine_regimes() decides.
#include "engine/candidate_timing.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "analyze/analysis.hpp"

#include "core/json.hpp"
#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/evidence.hpp"
#include "engine/floors.hpp"
#include "engine/iteration.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/verdicts.hpp"
#include "engine/worker.hpp"
#include "measure/comparison.hpp"

namespace wb::engine {

using measure::Comparison;
using measure::PlanKind;
using problem::Problem;

namespace {

std::vector<Problem> held_out_problems(const Context& context, const Run& run) {
  std::vector<Problem> problems;
  for (const problem::SuiteProblem& member : context.settings.suite.problems) {
    if (!member.held_out || not_supported(*run.candidate, member.problem)) continue;
    problems.push_back(member.problem);
  }
  return problems;
}

/// Reads the comparisons: the deciding total, the reason for a refusal, one row per problem.
Result<void> record_comparisons(Context& context, Run& run, const TimingRequest& request,
                                const TimingResult& result, const OtherRegime* other) {
  WB_TRY_ASSIGN(const auto suite_scores, log_comparisons(context, request, result, 1, other));
  const Objective& objective = context.settings.objective;
  for (const SuiteScore& suite : suite_scores) {
    if (suite.subject != 1 || suite.plan != objective.plan) continue;
    run.total = suite.total;
    run.refusal = refusal(objective, suite.total, suite.scores).value_or("");
    run.problem_rows = Json::array();
    for (const ProblemScore& part : suite.scores) {
      // Hidden from playbooks and agents; the log has them.
      if (part.problem.held_out || !part.comparison) continue;
      run.problem_rows.push_back({{"problem", label(part.problem.problem)},
                                  {"outcome", to_string(part.comparison->outcome)},
                                  {"speedup", speedup_or_null(part.comparison)},
                                  {"candidate_us", figure_or_null(part.candidate_us)},
                                  {"incumbent_us", figure_or_null(part.incumbent_us)}});
    }
  }
  return {};
}

/// The candidate's own failure during timing, if any. A fault of the machine counts only under the
/// objective's plan and regime; elsewhere the comparisons are ambiguous and give the reason.
std::optional<Failure> timing_failure(const TimingRequest& request, const TimingResult& result,
                                      const Objective& objective) {
  for (const auto& problem : result.lanes) {
    for (std::size_t k = 0; k < request.plans.size(); ++k) {
      const auto& failure = problem[k][0].failure;
      if (!failure) continue;
      const bool decides = request.plans[k] == objective.plan && request.regime == objective.regime;
      if (failure->invalidity != Invalidity::environment || decides) {
        return failure;
      }
    }
  }
  return std::nullopt;
}

/// Labels of the problems that the analysis "regime" calls compute-bound.
std::set<std::string, std::less<>> compute_bound(const measure::Evidence& evidence) {
  std::set<std::string, std::less<>> labels;
  for (const analyze::Analysis& analysis : analyze::analyses()) {
    if (analysis.name != "regime") continue;
    for (const measure::Finding& finding : analysis.run(evidence)) {
      if (finding.figures.value("regime", "") == "compute") labels.insert(finding.problem);
    }
  }
  return labels;
}

Json figures_of(const Comparison& comparison, const std::vector<Lane>& lanes,
                std::pair<std::int64_t, std::int64_t> turns) {
  Json figures{{"speedup", figure_or_null(comparison.speedup)},
               {"interval", measure::is_shown(comparison.interval) ? to_json(comparison.interval)
                                                                   : Json(nullptr)},
               {"outcome", to_string(comparison.outcome)},
               {"reason", comparison.reason},
               {"instances", comparison.instances},
               {"rounds", comparison.rounds},
               {"candidate_us", figure_or_null(lane_median_us(lanes[0]))},
               {"against_us", figure_or_null(lane_median_us(lanes[1]))},
               {"flags", flags_of(lanes[0], lanes[1])},
               {"turns", {turns.first, turns.second}}};
  Json conditions = conditions_of(lanes[0], lanes[1]);
  if (!conditions.is_null()) figures["conditions"] = std::move(conditions);
  return figures;
}

/// After a confirmation's turns, on a GPU with a hot objective: times the compute-bound problems in
/// the other regime too, in fresh processes with new instance numbers. Nothing when there is no
/// such problem. Errors: as time_subjects().
Result<std::optional<OtherRegime>> time_other_regime(Context& context, const TimingRequest& request,
                                                     const TimingResult& result) {
  const Objective& objective = context.settings.objective;
  const bool on_gpu = context.worker->device && context.worker->device->backend == "cuda";
  if (!on_gpu || objective.plan != PlanKind::hot) return std::optional<OtherRegime>{};
  OtherRegime other;
  const auto labels = compute_bound(evidence_of(context, request, result, 0));
  for (const Problem& problem : request.problems) {
    if (labels.contains(label(problem))) other.request.problems.push_back(problem);
  }
  if (other.request.problems.empty()) return std::optional<OtherRegime>{};
  other.request.subjects = {request.subjects[0], request.subjects[1]};
  other.request.plans = {PlanKind::hot};
  // It can only veto and gives no figure of the objective, so one buffer set per process suffices.
  other.request.effort = {
      .instances = request.other_instances > 0 ? request.other_instances : request.effort.instances,
      .placements = 1,
      .rounds = 1};
  other.request.plan = request.plan;
  other.request.regime = measure::opposite(objective.regime);
  other.request.phase = request.phase;
  other.request.first_instance = request.first_instance + request.effort.instances;
  WB_TRY_ASSIGN(other.result, time_subjects(context, other.request));
  return std::optional<OtherRegime>(std::move(other));
}

}  // namespace

Json speedup_or_null(const std::optional<measure::Comparison>& total) {
  if (!total || !std::isfinite(total->speedup) || !(total->speedup > 0)) return nullptr;
  return total->speedup;
}

// Stages 5 and 6 for one phase.
Result<void> time_candidate(Context& context, Run& run, const std::string& phase) {
  const bool confirmation = phase == "confirmation";
  WB_TRY(renew_unfit_floors(context, run.problems));
  const EffortPlan effort = effort_plan(context.settings.effort);
  TimingRequest request;
  request.subjects = {&*run.candidate, &*context.incumbent};
  request.problems = run.problems;
  request.plans = {context.settings.objective.plan};
  request.effort = confirmation ? effort.confirmation : effort.selection;
  request.plan = effort.plan;
  request.regime = context.settings.objective.regime;
  request.phase = phase;
  request.first_calls = confirmation;
  std::vector<Problem> held_out;
  if (confirmation) {
    for (const Subject& rival : context.rivals) request.subjects.push_back(&rival);
    if (run.all_plans) request.plans = {PlanKind::hot, PlanKind::cold, PlanKind::eager};
    request.other_instances = effort.other_instances;
    held_out = held_out_problems(context, run);
    request.problems.insert(request.problems.end(), held_out.begin(), held_out.end());
    if (!held_out.empty()) {
      WB_TRY_ASSIGN(const auto judgements, judge_subject(context, *run.candidate, held_out));
      if (auto failed = first_failure(judgements)) {
        run.failure = Failure{*failed->invalidity, "a held-out problem: " + failed->message, ""};
        return {};
      }
    }
  }
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  const Objective& objective = context.settings.objective;
  std::optional<Failure> failed = timing_failure(request, result, objective);
  std::optional<OtherRegime> other;
  if (confirmation && !failed) {
    WB_TRY_ASSIGN(other, time_other_regime(context, request, result));
    if (other) failed = timing_failure(other->request, other->result, objective);
  }
  if (failed) {
    // The output may contain shapes of held-out problems.
    if (!held_out.empty()) failed->untrusted_output.clear();
    run.failure = std::move(failed);
    run.total.reset();
    return {};
  }
  WB_TRY(record_comparisons(context, run, request, result, other ? &*other : nullptr));
  if (confirmation) {
    run.confirmed = true;
    WB_TRY(record_findings(context, request, result, 0));
  }
  return {};
}

std::optional<BothRegimes> combine_with(const Context& context, const OtherRegime& other,
                                        const Problem& problem, const Comparison& own,
                                        const std::vector<Lane>& own_lanes,
                                        std::pair<std::int64_t, std::int64_t> own_turns) {
  const std::vector<Problem>& problems = other.request.problems;
  const auto found = std::find(problems.begin(), problems.end(), problem);
  if (found == problems.end()) return std::nullopt;
  const auto place = static_cast<std::size_t>(found - problems.begin());
  const std::vector<Lane>& lanes = other.result.lanes[place][0];
  // Uses the floors of the session's own regime, the only ones measured.
  const Comparison beside =
      compare_lanes(context, problem, PlanKind::hot, lanes[0], other.request.subjects[0]->label,
                    lanes[1], other.request.subjects[1]->label);
  const measure::Regime regime = measure::opposite(other.request.regime);
  BothRegimes both;
  both.comparison = measure::combine_regimes(own, regime, beside);
  both.figures[to_string(regime)] = figures_of(own, own_lanes, own_turns);
  both.figures[to_string(other.request.regime)] =
      figures_of(beside, lanes, other.result.events[place]);
  return both;
}

}  // namespace wb::engine
