// SPDX-License-Identifier: MIT
// From lanes to comparisons, per problem and plan and over the suite, every one an event.
#include "engine/comparing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/json.hpp"
#include "engine/candidate_timing.hpp"
#include "engine/context.hpp"
#include "engine/first_calls.hpp"
#include "engine/worker.hpp"
#include "measure/comparison.hpp"
#include "measure/roofline.hpp"
#include "measure/statistics.hpp"

namespace wb::engine {

using measure::Comparison;
using measure::ComparisonOutcome;
using measure::NoiseFloor;
using measure::PlanKind;
using measure::Turn;
using problem::Problem;

namespace {

struct Disturbance {
  std::string_view flag, cause, cure;
};
constexpr std::array<Disturbance, 4> k_disturbances{{
    {measure::k_flag_cpu_throttled, "the CPU quota of its control group stopped it",
     "lift the quota (`sdpa-wb doctor` names its file) or give whole CPUs instead of it"},
    {measure::k_flag_fewer_cpus, "it may use fewer CPUs than when the worker started",
     "widen the cpuset again or start anew"},
    {measure::k_flag_foreign_load, "other processes used the CPUs or the GPU",
     "let the machine be quiet"},
    {measure::k_flag_throttled, "heat or its hardware slowed the GPU down",
     "see to its cooling and power"},
}};

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

std::vector<Turn> same_code_turns(const Lane& first, const Lane& second) {
  std::vector<Turn> turns;
  for (Turn turn : first.turns) {
    turn.instance = 2 * turn.instance;
    turns.push_back(std::move(turn));
  }
  for (Turn turn : second.turns) {
    turn.instance = 2 * turn.instance + 1;
    turns.push_back(std::move(turn));
  }
  return turns;
}

double lane_median_us(const Lane& lane) {
  if (lane.turns.empty()) return measure::k_unknown;
  return measure::summarize(lane.turns, k_bootstrap_seed).median_us;
}

Json figure_or_null(double value) {
  return std::isfinite(value) && value > 0 ? Json(value) : Json(nullptr);
}

std::string why_no_figure(const Lane& lane) {
  if (lane.failure) return lane.failure->message;
  return lane.turns.empty() ? "no turn counts" : "";
}

std::vector<std::string> flags_of(const Lane& one, const Lane& other) {
  std::set<std::string> flags;
  for (const Lane* lane : {&one, &other}) {
    for (const Turn& turn : lane->turns) flags.insert(turn.flags.begin(), turn.flags.end());
  }
  return {flags.begin(), flags.end()};
}

std::optional<measure::GpuConditions> conditions_of(const Lane& lane) {
  std::optional<measure::GpuConditions> all;
  for (const Turn& turn : lane.turns) {
    if (!turn.conditions) continue;
    if (all) measure::merge(*all, *turn.conditions);
    if (!all) all = turn.conditions;
  }
  return all;
}

Json conditions_of(const Lane& candidate, const Lane& against) {
  Json both;
  if (const auto conditions = conditions_of(candidate)) both["candidate"] = to_json(*conditions);
  if (const auto conditions = conditions_of(against)) both["against"] = to_json(*conditions);
  return both;
}

void refuse_impossible(const Context& context, const problem::Problem& problem, PlanKind plan,
                       Lane& lane) {
  if (!context.worker->hello || lane.failure || lane.turns.empty()) return;
  const measure::RooflineFloor floor =
      measure::roofline_floor(context.worker->hello->device, problem, problem::work(problem));
  if (auto reason = measure::refuse_below_roofline(floor, plan, lane_median_us(lane))) {
    lane.failure = Failure{Invalidity::runtime, "refused: " + *reason, ""};
  }
}

void fail_if_disturbed(Lane& lane) {
  if (lane.failure || lane.disturbed_by.empty() || !lane.turns.empty()) return;
  if (lane.disturbed_by.contains(measure::k_flag_own_threads)) {
    lane.failure =
        Failure{Invalidity::environment,
                "in every turn threads of the variant waited for each other's CPU, and "
                "nobody else had the CPUs; start no more threads than args->threads, let "
                "none spin, or give the session more CPUs",
                ""};
    return;
  }
  std::vector<std::string_view> causes, cures;
  for (const Disturbance& one : k_disturbances) {
    if (!lane.disturbed_by.contains(one.flag)) continue;
    causes.push_back(one.cause);
    cures.push_back(one.cure);
  }
  if (causes.empty()) {
    lane.failure = Failure{Invalidity::environment,
                           "no turn counts: its cold calls were faster than its hot ones, or it "
                           "used CPU time between the flush of the caches and the call",
                           ""};
    return;
  }
  lane.failure = Failure{Invalidity::environment,
                         fmt::format("{} in every turn; {} and try again",
                                     fmt::join(causes, ", or "), fmt::join(cures, ", ")),
                         ""};
}

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
