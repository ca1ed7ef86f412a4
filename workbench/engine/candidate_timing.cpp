// SPDX-License-Identifier: MIT
// Stages 5 and 6 of an iteration: turns of candidate and incumbent and, at confirmation, the
// rivals; then the comparisons.
#include <cmath>

#include "core/json.hpp"
#include "engine/candidate_timing.hpp"
#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/evidence.hpp"
#include "engine/floors.hpp"
#include "engine/iteration.hpp"
#include "engine/objective.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/verdicts.hpp"

namespace wb::engine {

using measure::PlanKind;
using problem::Problem;

Json speedup_or_null(const std::optional<measure::Comparison>& total) {
  if (!total || !std::isfinite(total->speedup) || !(total->speedup > 0)) return nullptr;
  return total->speedup;
}

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

}  // namespace

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

}  // namespace wb::engine
