// SPDX-License-Identifier: MIT
// From lanes to comparisons: per problem and plan, and over the suite; every one an event.
#include "engine/comparing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "engine/candidate_timing.hpp"
#include "engine/context.hpp"
#include "engine/first_calls.hpp"
#include "engine/objective.hpp"
#include "engine/timing.hpp"

namespace wb::engine {

using measure::Comparison;
using measure::ComparisonOutcome;
using measure::NoiseFloor;
using measure::PlanKind;
using problem::Problem;

namespace {

/// Index in a request, by problem text.
using Places = std::map<std::string, std::size_t>;

const NoiseFloor* find_floor(const Context& context, const Problem& problem, PlanKind plan) {
  const auto found = context.floors.find({to_text(problem), std::string(to_string(plan))});
  return found == context.floors.end() ? nullptr : &found->second;
}

/// The scores that count over the suite. Held-out problems count only in phases that measure them.
/// A problem that the candidate excludes counts as unchanged beside the incumbent; beside a rival
/// only problems measured on both sides count.
std::vector<ProblemScore> that_take_part(std::vector<ProblemScore> scores, bool beside_incumbent) {
  std::erase_if(scores, [&](const ProblemScore& item) {
    return !item.comparison && (item.problem.held_out || !beside_incumbent);
  });
  return scores;
}

/// False for a rival without a figure over the suite, since it lacks problems that the candidate
/// supports.
bool covers_suite(const std::vector<ProblemScore>& scores, const Places& places) {
  return std::all_of(scores.begin(), scores.end(), [&](const ProblemScore& part) {
    return part.comparison || part.problem.held_out ||
           !places.contains(to_text(part.problem.problem));
  });
}

Result<void> log_total(Context& context, const TimingRequest& request, const TimingResult& result,
                       const SuiteScore& suite) {
  const ComparisonContext where{.request = request,
                                .role = suite.subject == 1 ? "incumbent" : "rival",
                                .plan = suite.plan,
                                .turns = {result.events.front().first, result.events.back().second},
                                .flags = {},
                                .conditions = {}};
  WB_TRY(log_comparison(context, suite.total, std::nullopt, where, 0, 0));
  return {};
}

}  // namespace

double same_margin(const Context& context, const Problem& problem, PlanKind plan) {
  const NoiseFloor* floor = find_floor(context, problem, plan);
  if (floor == nullptr || !std::isfinite(floor->between_instance_frac)) return 0;
  return floor->between_instance_frac;
}

Comparison compare_lanes(const Context& context, const Problem& problem, PlanKind plan,
                         const Lane& candidate, std::string_view candidate_label, const Lane& other,
                         std::string_view other_label, const search::Ask* ask) {
  const NoiseFloor* floor = find_floor(context, problem, plan);
  measure::CompareOptions options;
  if (ask != nullptr) options.confidence = ask->confidence;
  if (floor != nullptr) {
    options = ask != nullptr ? compare_options(*ask, *floor, k_bootstrap_seed)
                             : compare_options(*floor, k_bootstrap_seed);
  }
  options.seed = k_bootstrap_seed;
  Comparison comparison;
  const Lane* failed = candidate.failure ? &candidate : other.failure ? &other : nullptr;
  if (failed != nullptr || candidate.turns.empty() || other.turns.empty()) {
    comparison.outcome = ComparisonOutcome::ambiguous;
    comparison.speedup = std::nan("");
    comparison.interval = {std::nan(""), std::nan(""), options.confidence};
    comparison.reason = failed != nullptr ? failed->failure->message : "one side has no samples";
  } else {
    comparison = measure::compare(candidate.turns, other.turns, options);
  }
  comparison.candidate = candidate_label;
  comparison.rival = other_label;
  return comparison;
}

Result<std::int64_t> log_comparison(Context& context, const Comparison& comparison,
                                    const std::optional<Problem>& problem,
                                    const ComparisonContext& where, double candidate_us,
                                    double against_us) {
  Json event{{"iteration", context.iteration_or_null()},
             {"phase", where.request.phase},
             {"problem", problem ? Json(to_text(*problem)) : Json(nullptr)},
             {"plan", to_string(where.plan)},
             {"candidate", comparison.candidate},
             {"against", comparison.rival},
             {"role", where.role},
             {"speedup", figure_or_null(comparison.speedup)},
             {"interval", figure_or_null(comparison.interval.low).is_null() ||
                                  measure::is_uninformative(comparison.interval)
                              ? Json(nullptr)
                              : to_json(comparison.interval)},
             {"noise_floor_frac", comparison.noise_floor_frac},
             {"outcome", to_string(comparison.outcome)},
             {"reason", comparison.reason},
             {"resolution_frac", figure_or_null(measure::resolution_frac(comparison))},
             {"instances", comparison.instances},
             {"rounds", comparison.rounds},
             {"flags", where.flags},
             {"candidate_us", figure_or_null(candidate_us)},
             {"against_us", figure_or_null(against_us)},
             {"turns", {where.turns.first, where.turns.second}}};
  if (event["iteration"].is_null() && where.plan == PlanKind::hot) {
    event["regime"] = to_string(where.request.regime);
  }
  if (!where.conditions.is_null()) event["conditions"] = where.conditions;
  if (!where.regimes.is_null()) event["regimes"] = where.regimes;
  if (!where.fresh.is_null()) event["fresh"] = where.fresh;
  return context.log("comparison_made", std::move(event));
}

Result<std::vector<SuiteScore>> log_comparisons(Context& context, const TimingRequest& request,
                                                const TimingResult& result,
                                                std::size_t first_opponent,
                                                const OtherRegime* other) {
  const problem::Suite& suite = context.settings.suite;
  Places place;
  for (std::size_t p = 0; p < request.problems.size(); ++p) {
    place.emplace(to_text(request.problems[p]), p);
  }
  std::vector<SuiteScore> suite_scores;
  for (std::size_t k = 0; k < request.plans.size(); ++k) {
    for (std::size_t s = first_opponent; s < request.subjects.size(); ++s) {
      SuiteScore& total = suite_scores.emplace_back(SuiteScore{request.plans[k], s, {}, {}});
      for (const problem::SuiteProblem& member : suite.problems) {
        ProblemScore& part =
            total.scores.emplace_back(ProblemScore{.problem = member, .comparison = {}});
        const auto found = place.find(to_text(member.problem));
        if (found == place.end()) continue;
        const std::size_t p = found->second;
        const Problem& problem = request.problems[p];
        const auto& lanes = result.lanes[p][k];
        if (lanes[s].turns.empty() && !lanes[s].failure) continue;  // the problem is not supported
        part.comparison =
            compare_lanes(context, problem, request.plans[k], lanes[0], request.subjects[0]->label,
                          lanes[s], request.subjects[s]->label);
        Json regimes, fresh;
        if (const auto seen = fresh_outcome(request, result, p, k, s,
                                            context.settings.objective.plan, *part.comparison)) {
          fresh = to_json(*seen);
          part.comparison = measure::with_first_calls(*part.comparison, *seen);
          if (seen->state != measure::FreshState::stands) part.veto = seen->reason;
        }
        if (other != nullptr && s == 1 && request.plans[k] == PlanKind::hot) {
          if (auto both = combine_with(context, *other, problem, *part.comparison, lanes,
                                       result.events[p])) {
            const bool was_clear = part.comparison->outcome != ComparisonOutcome::ambiguous;
            part.comparison = std::move(both->comparison);
            const bool is_clear = part.comparison->outcome != ComparisonOutcome::ambiguous;
            if (was_clear && !is_clear) part.veto = part.comparison->reason;
            regimes = std::move(both->figures);
          }
        }
        part.candidate_us = lane_median_us(lanes[0]);
        part.incumbent_us = lane_median_us(lanes[s]);
        part.same_margin_frac = same_margin(context, problem, request.plans[k]);
        WB_TRY(log_comparison(context, *part.comparison, problem,
                              {.request = request,
                               .role = s == 1 ? "incumbent" : "rival",
                               .plan = request.plans[k],
                               .turns = result.events[p],
                               .flags = flags_of(lanes[0], lanes[s]),
                               .conditions = conditions_of(lanes[0], lanes[s]),
                               .regimes = std::move(regimes),
                               .fresh = std::move(fresh)},
                              part.candidate_us, part.incumbent_us));
      }
      total.is_logged = s == 1 || covers_suite(total.scores, place);
      total.scores = that_take_part(std::move(total.scores), s == 1);
      total.total = score(context.settings.objective, total.scores);
      total.total.candidate = request.subjects[0]->label;
      total.total.rival = request.subjects[s]->label;
    }
  }
  // The deciding comparison is logged last.
  const auto decides = [&](const SuiteScore& item) {
    return item.subject == 1 && item.plan == context.settings.objective.plan;
  };
  for (const bool now : {false, true}) {
    for (const SuiteScore& item : suite_scores) {
      if (item.is_logged && decides(item) == now) {
        WB_TRY(log_total(context, request, result, item));
      }
    }
  }
  return suite_scores;
}

}  // namespace wb::engine
