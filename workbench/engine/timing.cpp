// SPDX-License-Identifier: MIT
// The timing stage: how much is measured; fresh processes, ABBA turns, every turn an event.
#include "engine/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/first_calls.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/worker.hpp"

namespace wb::engine {

using measure::Plan;
using measure::PlanKind;
using measure::Regime;
using measure::Turn;

namespace {

constexpr int k_turn_attempts = 6;
constexpr auto k_first_pause = std::chrono::milliseconds(10);  // doubles with each attempt
/// After a sustained turn the device stays warm for this long.
constexpr auto k_still_warm = std::chrono::seconds(1);

/// Of a CPU turn (docs/contracts/measurement.md): 5 ms untimed, at least 10 ms timed.
Plan cpu_turn(std::int64_t min_samples) {
  Plan plan;
  plan.settle_us = 5'000;
  plan.timed_us = 10'000;
  plan.min_samples = min_samples;
  return plan;
}

void fail_all(TimingResult& result, std::size_t subject, const Failure& failure) {
  for (auto& problem : result.lanes) {
    for (auto& plan : problem) {
      if (!plan[subject].failure) plan[subject].failure = failure;
    }
  }
}

void load_instance(Context& context, const TimingRequest& request, SubjectProcesses& instance,
                   TimingResult& result) {
  const std::size_t loaded_before = instance.handles.size();
  instance.handles.resize(request.subjects.size());
  auto worker = context.worker->need();
  if (worker) {
    (*worker)->announce_python(
        std::count_if(request.subjects.begin() + static_cast<std::ptrdiff_t>(loaded_before),
                      request.subjects.end(), [](const Subject* subject) {
                        return subject->variant.manifest.backend == variant::Backend::python;
                      }));
  }
  for (std::size_t s = loaded_before; s < request.subjects.size(); ++s) {
    if (!worker) {
      fail_all(result, s, worker.error());
      continue;
    }
    const Subject& subject = *request.subjects[s];
    auto loaded = (*worker)->load(subject.variant, subject.artifact);
    if (loaded) {
      instance.handles[s] = loaded->handle;
    } else {
      fail_all(result, s, loaded.error());
    }
  }
}

struct TurnSlot {
  std::size_t problem, plan, subject;
  std::int64_t instance, placement, round, position;
};

Json turn_event(const Context& context, const TimingRequest& request, const TurnSlot& slot,
                const Turn& turn, const std::optional<problem::OutputVerdict>& spot) {
  Json event = to_json(turn);
  event["iteration"] = context.iteration_or_null();
  event["problem"] = to_text(request.problems[slot.problem]);
  event["plan"] = to_string(request.plans[slot.plan]);
  if (request.plans[slot.plan] == PlanKind::hot && request.regime != Regime::burst) {
    event["regime"] = to_string(request.regime);
  }
  event["phase"] = request.phase;
  event["spot_pass"] = spot ? Json(spot->pass) : Json(nullptr);
  return event;
}

/// The subjects and problems whose launches the session's log has.
std::set<std::pair<std::string, std::string>> logged_launches(const session::SessionView& view) {
  std::set<std::pair<std::string, std::string>> logged;
  const auto add = [&](const session::IterationView& part) {
    for (const session::Fact& fact : part.launches) {
      logged.emplace(text_of(fact.payload, "subject"), text_of(fact.payload, "problem"));
    }
  };
  for (const session::IterationView& iteration : view.iterations) add(iteration);
  add(view.outside);
  return logged;
}

/// Once for each subject and problem. A search times many configurations, of which the winner is
/// confirmed, so its own turns leave them out.
Result<void> log_launches(Context& context, const TimingRequest& request, const TurnSlot& slot,
                          const std::vector<measure::KernelLaunch>& launches) {
  if (launches.empty() || !context.session || request.phase == "tune") return {};
  if (!context.with_launches) {
    WB_TRY_ASSIGN(const session::SessionView* view,
                  context.session->current(session::FoldDepth::full));
    context.with_launches = logged_launches(*view);
  }
  const std::string& subject = request.subjects[slot.subject]->label;
  const std::string problem = to_text(request.problems[slot.problem]);
  if (!context.with_launches->emplace(subject, problem).second) return {};
  WB_TRY(context.log("launches_recorded", {{"iteration", context.iteration_or_null()},
                                           {"subject", subject},
                                           {"problem", problem},
                                           {"launches", to_json(launches)}}));
  return {};
}

/// The requested positions of a round, as a half-open range: [first, second).
std::pair<std::size_t, std::size_t> positions_of(RoundPart part, std::size_t round_size) {
  return {part == RoundPart::second_half ? round_size / 2 : 0,
          part == RoundPart::first_half ? round_size / 2 : round_size};
}

/// One request and its event. Returns the turn, or nothing when the lane ended.
Result<std::optional<Turn>> request_turn(Context& context, const TimingRequest& request,
                                         const TurnSlot& slot, SubjectProcesses& instance,
                                         TimingResult& result) {
  Lane& lane = result.lanes[slot.problem][slot.plan][slot.subject];
  auto& handle = instance.handles[slot.subject];
  protocol::TurnArgs args;
  args.handle = *handle;
  args.problem = request.problems[slot.problem];
  args.plan = request.plan;
  args.plan.kind = request.plans[slot.plan];
  if (args.plan.kind == PlanKind::hot) {
    const auto now = context.services.clock.steady_now();
    const bool warm =
        context.worker->last_sustained && now - *context.worker->last_sustained < k_still_warm;
    args.plan = in_regime(args.plan, request.regime,
                          warm ? PriorDeviceState::busy : PriorDeviceState::idle);
  }
  args.placement = slot.placement;
  args.fresh_calls = request.fresh_calls;
  auto answer = context.worker->client->turn(args);
  if (!answer && answer.error().invalidity == Invalidity::constraints) {
    // The process is alive, and other problems are not affected.
    for (auto& plan : result.lanes[slot.problem]) plan[slot.subject].failure = answer.error();
    return std::optional<Turn>{};
  }
  if (!answer) {
    // The process may have ended; later problems of this instance cannot use it either.
    handle.reset();
    lane.failure = answer.error();
    fail_all(result, slot.subject, answer.error());
    return std::optional<Turn>{};
  }
  // Its peaks were calibrated in a disturbed moment, and nobody is refused by them.
  if (answer->device && context.worker->hello) context.worker->hello->device = *answer->device;
  context.worker->last_sustained.reset();
  if (args.plan.kind == PlanKind::hot && request.regime == Regime::sustained) {
    context.worker->last_sustained = context.services.clock.steady_now();
  }
  Turn turn;
  turn.subject = request.subjects[slot.subject]->label;
  turn.instance = slot.instance;
  turn.placement = slot.placement;
  turn.round = slot.round;
  turn.position = slot.position;
  turn.samples_us = answer->samples_us;
  turn.calls_per_sample = answer->calls_per_sample;
  turn.wall_us = answer->wall_us;
  turn.flags = answer->flags;
  turn.conditions = answer->conditions;
  WB_TRY_ASSIGN(
      const std::int64_t seq,
      context.log("turn_measured", turn_event(context, request, slot, turn, answer->spot)));
  auto& range = result.events[slot.problem];
  if (range.first == 0) range.first = seq;
  range.second = seq;
  WB_TRY(log_launches(context, request, slot, answer->launches));
  if (answer->spot && !answer->spot->pass) {
    lane.failure =
        Failure{Invalidity::correctness, "a timed output was wrong: " + answer->spot->reason, ""};
    fail_all(result, slot.subject, *lane.failure);
    return std::optional<Turn>{};
  }
  return std::optional<Turn>(std::move(turn));
}

/// Takes one turn. A disturbed turn (foreign load, a throttled GPU) is logged and repeated a few
/// times; if it stays disturbed it does not count. On a machine that stays busy, only lanes without
/// a clean turn retry further, so that the session gets wider intervals rather than many times the
/// duration.
Result<void> take_turn(Context& context, const TimingRequest& request, const TurnSlot& slot,
                       SubjectProcesses& instance, std::int64_t& retries_left,
                       TimingResult& result) {
  Lane& lane = result.lanes[slot.problem][slot.plan][slot.subject];
  // Only the objective's plan decides; the others get one attempt.
  const bool decides = request.plans[slot.plan] == context.settings.objective.plan;
  std::set<std::string, std::less<>> disturbed_by;
  for (int attempt = 0; attempt < (decides ? k_turn_attempts : 1); ++attempt) {
    if (lane.failure || !instance.handles[slot.subject] || !context.worker->client) return {};
    WB_TRY_ASSIGN(auto turn, request_turn(context, request, slot, instance, result));
    if (!turn) return {};
    if (!measure::is_disturbed(turn->flags)) {
      lane.turns.push_back(*std::move(turn));
      return {};
    }
    disturbed_by.insert(turn->flags.begin(), turn->flags.end());
    if (!decides || (retries_left-- <= 0 && !lane.turns.empty())) break;
    if (attempt + 1 < k_turn_attempts) {
      context.services.clock.sleep(k_first_pause * (1 << attempt));
    }
  }
  lane.disturbed_by.merge(disturbed_by);
  return {};
}

void fail_disturbed(TimingResult& result) {
  for (auto& problem : result.lanes) {
    for (auto& plan : problem) {
      for (Lane& lane : plan) fail_if_disturbed(lane);
    }
  }
}

}  // namespace

EffortPlan effort_plan(std::string_view word) {
  if (word == "quick") {
    return {.selection = {1, 1, 1},
            .confirmation = {5, 1, 1},
            .plan = cpu_turn(2),
            .other_instances = 3};
  }
  if (word == "thorough") {
    return {.selection = {3, 2, 2}, .confirmation = {8, 3, 2}, .plan = cpu_turn(5)};
  }
  return {.selection = {2, 1, 2}, .confirmation = {5, 3, 1}, .plan = cpu_turn(3)};
}

Plan in_regime(Plan plan, Regime regime, PriorDeviceState device) {
  constexpr double k_sustain_us = 2'000'000, k_sustain_busy_us = 200'000;
  constexpr double k_sustained_timed_us = 200'000;
  plan.regime = regime;
  if (regime == Regime::burst) return plan;
  plan.settle_us =
      std::max(plan.settle_us, device == PriorDeviceState::busy ? k_sustain_busy_us : k_sustain_us);
  plan.timed_us = std::max(plan.timed_us, k_sustained_timed_us);
  return plan;
}

Result<std::pair<PlanKind, Regime>> plan_and_regime(const Json& args) {
  const PlanKind plan = *measure::parse_plan_kind(args.value("plan", "hot"));
  const Regime regime = *measure::parse_regime(args.value("regime", "burst"));
  if (regime != Regime::burst && plan != PlanKind::hot) {
    return Error{ErrorCode::usage, "time in the regime", std::string(to_string(regime)),
                 fmt::format("the plan {} has none", to_string(plan)), "use --plan hot"};
  }
  return std::pair{plan, regime};
}

SubjectProcesses::~SubjectProcesses() {
  auto& client = m_context.worker->client;
  if (!client || !client->alive()) return;
  for (const auto& handle : handles) {
    if (handle) (void)client->unload(*handle);
  }
}

Result<TimingResult> time_subjects(Context& context, const TimingRequest& request) {
  TimingResult result;
  result.lanes.assign(request.problems.size(),
                      std::vector<std::vector<Lane>>(request.plans.size(),
                                                     std::vector<Lane>(request.subjects.size())));
  result.events.assign(request.problems.size(), {0, 0});
  result.first_calls.assign(request.problems.size(),
                            std::vector<measure::FirstCallPairs>(request.subjects.size()));
  const auto total = static_cast<std::int64_t>(request.problems.size()) * request.effort.instances;
  std::int64_t done = 0;
  // As many retries as the deciding plan has turns: each round has every subject twice.
  std::int64_t retries_left = total * request.effort.placements * request.effort.rounds *
                              static_cast<std::int64_t>(2 * request.subjects.size());
  for (std::int64_t i = 0; i < request.effort.instances; ++i) {
    SubjectProcesses own(context);
    SubjectProcesses& instance = request.kept != nullptr ? *request.kept : own;
    if (instance.handles.size() < request.subjects.size()) {
      load_instance(context, request, instance, result);
    }
    const std::int64_t number = request.first_instance + i;
    for (std::size_t p = 0; p < request.problems.size(); ++p) {
      context.report_progress({.stage = request.phase,
                               .what = label(request.problems[p]),
                               .done = done++,
                               .total = total});
      std::vector<std::size_t> takers;
      for (std::size_t s = 0; s < request.subjects.size(); ++s) {
        if (!not_supported(*request.subjects[s], request.problems[p])) takers.push_back(s);
      }
      for (std::size_t k = 0; k < request.plans.size(); ++k) {
        const bool decides = request.plans[k] == context.settings.objective.plan;
        if (!decides && request.other_instances > 0 && i >= request.other_instances) continue;
        for (std::int64_t placement = 0; placement < request.effort.placements; ++placement) {
          for (std::int64_t r = 0; r < request.effort.rounds; ++r) {
            const std::int64_t round = request.first_round + r;
            const auto order = measure::abba_order(takers.size(), round + number);
            const auto [begin, end] = positions_of(request.part, order.size());
            for (std::size_t at = begin; at < end; ++at) {
              WB_TRY(context.check_stop());
              const auto position = static_cast<std::int64_t>(at);
              const TurnSlot slot{p, k, takers[order[at]], number, placement, round, position};
              WB_TRY(take_turn(context, request, slot, instance, retries_left, result));
            }
          }
        }
      }
      if (request.first_calls) {
        WB_TRY(take_first_calls(context, request, p, number, instance, result));
      }
    }
  }
  if (request.part == RoundPart::whole) fail_disturbed(result);
  if (request.first_calls) {
    refuse_left_out_work(request, result, context.settings.objective.plan);
  }
  for (std::size_t p = 0; p < request.problems.size(); ++p) {
    for (std::size_t k = 0; k < request.plans.size(); ++k) {
      for (Lane& lane : result.lanes[p][k]) {
        refuse_impossible(context, request.problems[p], request.plans[k], lane);
      }
    }
  }
  return result;
}

}  // namespace wb::engine
