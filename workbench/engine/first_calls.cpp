// SPDX-License-Identifier: MIT
// First calls on fresh inputs, taken in the processes of a comparison where the candidate leads,
// and compared with the gain of its timed calls (measure/first_calls.hpp).
#include "engine/first_calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/worker.hpp"
#include "measure/quantiles.hpp"

namespace wb::engine {

using measure::CallTimes;
using measure::FirstCallPairs;
using measure::FreshOutcome;
using measure::FreshState;
using measure::PlanKind;

namespace {

constexpr std::uint64_t k_first_calls_seed = 20'261'126;
/// The buffers exist from the previous turns and are only set up again.
constexpr double k_first_calls_settle_us = 1'000;

/// Index in request.plans of the objective's plan, or of the only plan.
std::size_t plan_of_first_calls(const TimingRequest& request, PlanKind objectives_plan) {
  const auto found = std::find(request.plans.begin(), request.plans.end(), objectives_plan);
  return found == request.plans.end() ? 0 : static_cast<std::size_t>(found - request.plans.begin());
}

/// Median over this instance's turns; nothing without turns.
std::optional<double> instance_median_us(const Lane& lane, std::int64_t instance) {
  std::vector<double> medians_us;
  for (const measure::Turn& turn : lane.turns) {
    if (turn.instance == instance) medians_us.push_back(measure::median(turn.samples_us));
  }
  if (medians_us.empty()) return std::nullopt;
  return measure::median(std::move(medians_us));
}

/// True when subject 0 was faster than `subject` under one of the plans in this instance.
bool is_ahead(const std::vector<std::vector<Lane>>& plans, std::size_t subject,
              std::int64_t instance) {
  return std::any_of(plans.begin(), plans.end(), [&](const std::vector<Lane>& lanes) {
    const auto own_us = instance_median_us(lanes[0], instance);
    const auto other_us = instance_median_us(lanes[subject], instance);
    return own_us && other_us && *own_us < *other_us;
  });
}

/// The same code beside itself has no gain to verify.
bool is_another(const TimingRequest& request, std::size_t subject) {
  for (std::size_t s = 0; s < subject; ++s) {
    if (request.subjects[s]->label == request.subjects[subject]->label) return false;
  }
  return true;
}

/// Python beside compiled code.
bool are_of_two_kinds_on_gpu(const TimingRequest& request, std::size_t subject) {
  const variant::Manifest& own = request.subjects[0]->variant.manifest;
  const variant::Manifest& other = request.subjects[subject]->variant.manifest;
  return variant::runs_on_gpu(own) &&
         (own.backend == variant::Backend::python) != (other.backend == variant::Backend::python);
}

/// Subject 0 and the subjects that it leads, as indices of the request; a single entry means no
/// check.
std::vector<std::size_t> callers_of(const TimingRequest& request, const TimingResult& result,
                                    std::size_t problem, std::int64_t instance,
                                    const SubjectProcesses& processes) {
  const auto& plans = result.lanes[problem];
  const auto can_call = [&](std::size_t s) {
    return processes.handles[s] &&
           std::none_of(plans.begin(), plans.end(),
                        [s](const std::vector<Lane>& lanes) { return lanes[s].failure; });
  };
  std::vector<std::size_t> callers;
  if (!can_call(0)) return callers;
  callers.push_back(0);
  for (std::size_t s = 1; s < request.subjects.size(); ++s) {
    if (can_call(s) && is_another(request, s) && is_ahead(plans, s, instance)) callers.push_back(s);
  }
  return callers;
}

/// Limits per instance, so that all instances together meet the rule's numbers.
protocol::FirstCallsArgs arguments_of(const TimingRequest& request, std::size_t problem,
                                      std::size_t plan) {
  const auto all = std::max<std::int64_t>(request.effort.instances, 1);
  const std::int64_t few =
      request.other_instances > 0 ? std::min(request.other_instances, all) : all;
  protocol::FirstCallsArgs args;
  args.problem = request.problems[problem];
  args.plan = request.plan;
  args.plan.kind = request.plans[plan];
  if (args.plan.kind == PlanKind::hot) args.plan.regime = request.regime;
  args.plan.settle_us = k_first_calls_settle_us;
  args.placement = std::max<std::int64_t>(request.effort.placements, 1) - 1;
  args.least = (measure::k_least_first_calls + few - 1) / few;
  args.most = std::max(args.least, (measure::k_most_first_calls + all - 1) / all);
  args.budget_us = measure::k_first_calls_us / static_cast<double>(all);
  return args;
}

FirstCallPairs pairs_of(const protocol::FirstCallsResult::Side& candidate,
                        const protocol::FirstCallsResult::Side& other, bool is_disturbed) {
  FirstCallPairs pairs;
  pairs.candidate = {candidate.fresh_us, candidate.again_us, candidate.fill_us};
  pairs.other = {other.fresh_us, other.again_us, other.fill_us};
  pairs.overhead_us = candidate.overhead_us - other.overhead_us;
  pairs.allowance_us = std::max(0.0, candidate.allowance_us - other.allowance_us);
  pairs.disturbed = is_disturbed;
  return pairs;
}

Json event_of(const Context& context, const TimingRequest& request,
              const protocol::FirstCallsArgs& args, std::int64_t instance,
              const std::vector<std::size_t>& callers, const protocol::FirstCallsResult& answer) {
  Json sides = to_json(answer)["sides"];
  for (std::size_t i = 0; i < sides.size(); ++i) {
    sides[i]["subject"] = request.subjects[callers[i]]->label;
  }
  return {{"iteration", context.iteration_or_null()},
          {"phase", request.phase},
          {"problem", to_text(args.problem)},
          {"plan", to_string(args.plan.kind)},
          {"instance", instance},
          {"placement", args.placement},
          {"sides", std::move(sides)},
          {"flags", answer.flags}};
}

CallTimes times_of(const std::vector<Lane>& lanes, std::size_t subject) {
  return {lane_median_us(lanes[0]), lane_median_us(lanes[subject])};
}

}  // namespace

Result<void> take_first_calls(Context& context, const TimingRequest& request, std::size_t problem,
                              std::int64_t instance, SubjectProcesses& processes,
                              TimingResult& result) {
  const auto callers = callers_of(request, result, problem, instance, processes);
  if (callers.size() < 2 || !context.worker->client) return {};
  const std::size_t plan = plan_of_first_calls(request, context.settings.objective.plan);
  protocol::FirstCallsArgs args = arguments_of(request, problem, plan);
  for (const std::size_t s : callers) args.handles.push_back(*processes.handles[s]);
  const auto answer = context.worker->client->first_calls(args);
  // On a fault of the machine, a `faster` without first calls says so with the reason.
  const auto none = [&](std::string why) {
    FirstCallPairs pairs;
    pairs.missing = std::move(why);
    for (std::size_t i = 1; i < callers.size(); ++i) {
      result.first_calls[problem][callers[i]].append(pairs);
    }
    return Result<void>();
  };
  if (!answer.ok()) return none(answer.error().message);
  if (answer->sides.size() > callers.size()) return none("the worker answered with garbage");
  WB_TRY(context.log("first_calls_measured",
                     event_of(context, request, args, instance, callers, *answer)));
  if (answer->failed && *answer->failed < static_cast<std::int64_t>(callers.size())) {
    const std::size_t failed = callers[static_cast<std::size_t>(*answer->failed)];
    if (answer->failure->invalidity == Invalidity::environment) {
      return none(answer->failure->message);
    }
    for (auto& plans : result.lanes[problem]) plans[failed].failure = *answer->failure;
    if (answer->failure->invalidity == Invalidity::constraints) return {};
    processes.handles[failed].reset();
    for (auto& each : result.lanes) {
      for (auto& lanes : each) {
        if (!lanes[failed].failure) lanes[failed].failure = *answer->failure;
      }
    }
    return {};
  }
  if (answer->sides.size() != callers.size()) return none("the worker answered for too few");
  for (std::size_t i = 1; i < callers.size(); ++i) {
    FirstCallPairs pairs =
        pairs_of(answer->sides[0], answer->sides[i], measure::is_disturbed(answer->flags));
    pairs.are_chains = answer->chained;
    const bool are_two_kinds = are_of_two_kinds_on_gpu(request, callers[i]);
    pairs.other_is_rough = are_two_kinds && !pairs.are_chains;
    // For subjects of one kind the work beside the calls is equal and cancels in the difference.
    if (!are_two_kinds) pairs.candidate.fill_us.clear();
    // Compiled code needs no more messages than Python, so nothing excuses it.
    if (pairs.are_chains) pairs.overhead_us = std::max(pairs.overhead_us, 0.0);
    result.first_calls[problem][callers[i]].append(pairs);
  }
  return {};
}

std::optional<FreshOutcome> fresh_outcome(const TimingRequest& request, const TimingResult& result,
                                          std::size_t problem, std::size_t plan,
                                          std::size_t subject, PlanKind objectives_plan,
                                          const measure::Comparison& comparison) {
  const bool wins = comparison.outcome == measure::ComparisonOutcome::faster;
  const bool may_win = comparison.outcome == measure::ComparisonOutcome::ambiguous &&
                       comparison.speedup > 1 && measure::is_valid(comparison.interval);
  if (!request.first_calls || !is_another(request, subject) || !(wins || may_win)) {
    return std::nullopt;
  }
  const FirstCallPairs& calls = result.first_calls[problem][subject];
  const std::size_t own_plan = plan_of_first_calls(request, objectives_plan);
  const CallTimes timed = times_of(result.lanes[problem][own_plan], subject);
  const double candidate_us = lane_median_us(result.lanes[problem][plan][0]);
  FreshOutcome fresh = measure::judge_first_calls(
      calls, timed, {candidate_us, candidate_us * comparison.speedup}, k_first_calls_seed);
  // Without a gain, only a clear objection matters.
  if (!wins && fresh.state != FreshState::absent && fresh.state != FreshState::left_out) {
    return std::nullopt;
  }
  return fresh;
}

void refuse_left_out_work(const TimingRequest& request, TimingResult& result,
                          PlanKind objectives_plan) {
  const std::size_t plan = plan_of_first_calls(request, objectives_plan);
  for (std::size_t p = 0; p < request.problems.size(); ++p) {
    for (std::size_t s = 1; s < request.subjects.size(); ++s) {
      const auto& lanes = result.lanes[p][plan];
      if (lanes[0].failure || lanes[s].failure || result.first_calls[p][s].rounds() == 0) continue;
      const CallTimes times = times_of(lanes, s);
      if (!(times.candidate_us < times.other_us)) continue;
      const FreshOutcome fresh =
          measure::judge_first_calls(result.first_calls[p][s], times, times, k_first_calls_seed);
      if (fresh.state != FreshState::left_out) continue;
      for (auto& of_plan : result.lanes[p]) {
        of_plan[0].failure =
            Failure{Invalidity::runtime,
                    fmt::format("{}; beside {}", fresh.reason, request.subjects[s]->label), ""};
      }
    }
  }
}

}  // namespace wb::engine
