// SPDX-License-Identifier: MIT
// Both regimes at confirmation: on a GPU a compute-bound problem is also timed in the regime that
// the objective does not name, because clocks under lasting load may favor another kernel.
// combine_regimes() decides.
#include "engine/candidate_timing.hpp"

#include <algorithm>
#include <set>

#include "analyze/analysis.hpp"
#include "core/json.hpp"
#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/evidence.hpp"
#include "engine/objective.hpp"
#include "engine/timing.hpp"

namespace wb::engine {

using measure::Comparison;
using measure::PlanKind;
using problem::Problem;

namespace {

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

}  // namespace

Result<std::optional<OtherRegime>> time_other_regime(Context& context, const TimingRequest& request,
                                                     const TimingResult& result) {
  const Objective& objective = context.settings.objective;
  const bool on_gpu = context.device && context.device->backend == "cuda";
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
