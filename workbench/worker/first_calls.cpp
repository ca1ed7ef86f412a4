// SPDX-License-Identifier: MIT
// First calls: how long a subject takes on inputs that it never saw, beside inputs that it saw just
// before. On a CPU they are taken one by one. On a GPU a single call lasts microseconds, while the
// messages around it scatter by tens of microseconds, so many calls follow each other in a chain
// between two messages; the device itself copies each call's inputs right before it.
#include "worker/first_calls.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>

#include "core/json.hpp"
#include "core/secret.hpp"
#include "worker/cpu_time.hpp"
#include "worker/cuda/device/params.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/hand_over.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {
namespace {

/// How many chains with calls have their last output judged, drawn after they ended. Some 50 chains
/// per comparison find a subject that skips one call in five in all but one of ten thousand
/// comparisons.
constexpr std::uint32_t k_judged_chain_one_in = 8;

}  // namespace

std::int64_t TurnConductor::most_chained_calls(double room_bytes) const {
  return chained_calls(m_args.plan, m_call_us,
                       static_cast<double>(cuda::device_inputs_bytes(m_args.problem)), room_bytes,
                       m_context.clock);
}

/// Seeds of `again` are all the last one, so that a subject that remembers one result is spared all
/// the work.
Json TurnConductor::chain_of(ChainOf what, std::int64_t calls) {
  m_poison = draw_poison();
  m_draw = problem::Draw::normal;
  Json seeds = Json::array();
  for (std::int64_t i = 0; i < calls; ++i) {
    if (what == ChainOf::fresh) m_seed = draw_secret<std::uint32_t>();
    seeds.push_back(m_seed);
  }
  Json chain{{"seeds", std::move(seeds)},
             {"poison", m_poison.seed},
             {"with_calls", what != ChainOf::fills}};
  if (m_inputs) {
    m_inputs->refill(m_seed, m_draw, m_context.threads, chain);
    chain["seed_offset"] = offsetof(cuda::device::FillParams, seed);
  }
  return {{"op", "go"}, {"samples", 1}, {"calls", 1}, {"chain", std::move(chain)}};
}

Outcome<double> TurnConductor::chained_call_us(ChainOf what, std::int64_t calls) {
  bool picked = false;
  const auto is_picked = [&] {
    picked = what != ChainOf::fills && draw_secret<std::uint32_t>() % k_judged_chain_one_in == 0;
    return picked;
  };
  const std::size_t timed = m_samples_us.size();
  WB_TRY_ASSIGN(const auto time, time_block(chain_of(what, calls), is_picked));
  m_samples_us.resize(timed);
  if (picked) {
    WB_TRY_ASSIGN(const auto wrong, wrong_first_call());
    if (wrong) return wrong_timed_output(*wrong);
  }
  // Measured from "started", before which the subject queues, which takes longer than a chain for
  // Python. The delay of a supervisor that noticed the start late for lack of a CPU is added. If it
  // was told late, the subject's own time is the minimum, which can only lengthen the result.
  const double told_us = time.wall_us + time.late_us - time.own_delay_us;
  const double us = std::max(told_us, std::min(time.reported_us, time.around_us));
  m_chained_us += us;
  return us / static_cast<double>(calls);
}

Outcome<void> TurnConductor::prime_again() {
  m_poison = draw_poison();
  Json prime = {{"op", "prime"},           {"calls", 1},      {"warm", false},
                {"poison", m_poison.seed}, {"flush", cold()}, {"seed", m_seed}};
  if (m_inputs) {
    m_inputs->refill(m_seed, problem::Draw::normal, m_context.threads, prime);
    if (!cold()) m_inputs->read_through(m_context.threads);
  }
  m_output->spoil();
  WB_TRY(m_subject.ask(std::move(prime), {}, m_wait));
  return {};
}

Outcome<double> TurnConductor::first_call_us(bool is_new) {
  WB_TRY(is_new ? prime(true, false, 1) : prime_again());
  const std::size_t timed = m_samples_us.size();
  WB_TRY_ASSIGN(const auto time, time_calls(1, 1));
  m_samples_us.resize(timed);
  return time.around_us - time.own_delay_us;
}

Outcome<std::optional<std::string>> TurnConductor::wrong_first_call() {
  WB_TRY(m_subject.expect_silence());
  const auto wrong = spot_fails("a call on fresh inputs");
  if (!wrong.ok()) return wrong.error();
  return *wrong ? std::optional(m_spot->reason) : std::nullopt;
}

std::pair<double, double> TurnConductor::first_call_overhead_us(std::int64_t chained) const {
  const double lone_us = empty_call().lone_us;
  if (chained > 0) return {lone_us / static_cast<double>(chained), 0.0};
  const double allowed_us =
      lone_allowance_us(lone_us, m_subject.kind() == SubjectKind::python, m_context.clock);
  // Inputs made on a GPU leave the CPU's caches warm. The time of an empty Python call after
  // displaced caches excuses a Python subject, but does not accuse the compiled one beside it.
  const double sure_us =
      m_context.clock == Clock::device ? m_context.empty_native.lone_us : lone_us;
  return {sure_us, allowed_us - sure_us};
}

namespace {

/// CPU time of all callers but the first, which ForeignCpus accounts for.
std::chrono::nanoseconds other_callers_time(const std::vector<FirstCaller>& callers) {
  std::chrono::nanoseconds sum{0};
  for (std::size_t i = 1; i < callers.size(); ++i) {
    sum += cpu_time(callers[i].subject.pid()).value_or(std::chrono::nanoseconds(0));
  }
  return sum;
}

/// The maximal number of rounds. The last one is secret, since the calls after it are judged.
std::int64_t draw_rounds(const protocol::FirstCallsArgs& args) {
  const std::int64_t few = std::max(args.least, args.most - args.most / 4);
  return few + draw_secret<std::uint32_t>() % (args.most - few + 1);
}

/// Which caller failed, and how.
using CallersFailure = std::optional<std::pair<std::size_t, Failure>>;

/// One more round, whose last outputs are judged; in every other request those of new inputs. A
/// GPU's judge keeps one output, so each is judged before the next caller's call.
CallersFailure judge_last_calls(const std::vector<std::unique_ptr<TurnConductor>>& conductors) {
  const bool ends_on_new = draw_secret<std::uint32_t>() % 2 == 0;
  for (const bool is_new : {true, false}) {
    for (std::size_t i = 0; i < conductors.size(); ++i) {
      const auto us = conductors[i]->first_call_us(is_new);
      if (!us.ok()) return std::pair(i, us.error());
      if (is_new != ends_on_new) continue;
      const auto wrong = conductors[i]->wrong_first_call();
      if (!wrong.ok()) return std::pair(i, wrong.error());
      if (*wrong) return std::pair(i, wrong_timed_output(**wrong));
    }
    if (ends_on_new) break;
  }
  return std::nullopt;
}

/// One call of each caller, on new and on repeated inputs. The first caller alternates, and each
/// call follows one of every other caller.
CallersFailure take_single_calls(const std::vector<std::unique_ptr<TurnConductor>>& conductors,
                                 std::int64_t round, protocol::FirstCallsResult& result) {
  for (const bool is_new : {true, false}) {
    for (std::size_t i = 0; i < conductors.size(); ++i) {
      const std::size_t at = (i + static_cast<std::size_t>(round)) % conductors.size();
      const auto us = conductors[at]->first_call_us(is_new);
      if (!us.ok()) return std::pair(at, us.error());
      auto& side = result.sides[at];
      (is_new ? side.fresh_us : side.again_us).push_back(six_digits(*us));
    }
  }
  return std::nullopt;
}

/// The share of the device's free memory for chain inputs of all callers.
constexpr double k_chains_of_free_memory = 0.5;

/// The common parameters of a request's chains.
struct ChainPlan {
  std::int64_t most = 0;    ///< calls per chain; 0: single calls
  bool with_fills = false;  ///< also time chains without calls: the callers are of two kinds
};

/// The same with chains of equal length. The length is drawn for each round, so that no call of the
/// first caller is known to be the last, which may be judged.
CallersFailure take_chains(const std::vector<std::unique_ptr<TurnConductor>>& conductors,
                           const ChainPlan& plan, std::int64_t round,
                           protocol::FirstCallsResult& result) {
  const std::int64_t calls = plan.most - draw_secret<std::uint32_t>() % (plan.most / 4 + 1);
  for (const ChainOf what : {ChainOf::fresh, ChainOf::again, ChainOf::fills}) {
    if (what == ChainOf::fills && !plan.with_fills) break;
    for (std::size_t i = 0; i < conductors.size(); ++i) {
      const std::size_t at = (i + static_cast<std::size_t>(round)) % conductors.size();
      const auto us = conductors[at]->chained_call_us(what, calls);
      if (!us.ok()) return std::pair(at, us.error());
      auto& side = result.sides[at];
      (what == ChainOf::fresh   ? side.fresh_us
       : what == ChainOf::again ? side.again_us
                                : side.fill_us)
          .push_back(six_digits(*us));
    }
  }
  return std::nullopt;
}

Outcome<ChainPlan> plan_chains(const std::vector<FirstCaller>& callers,
                               const std::vector<std::unique_ptr<TurnConductor>>& conductors,
                               const Wait& wait) {
  const TurnContext& context = callers.front().context;
  if (context.clock == Clock::host) return ChainPlan{};
  WB_TRY_ASSIGN(const auto free_bytes, context.judge.free_gpu_bytes(wait.deadline, wait.cancel));
  const double room_bytes = k_chains_of_free_memory * static_cast<double>(free_bytes) /
                            static_cast<double>(callers.size());
  ChainPlan plan{k_most_chained_calls, false};
  for (std::size_t i = 0; i < callers.size(); ++i) {
    plan.most = std::min(plan.most, conductors[i]->most_chained_calls(room_bytes));
    plan.with_fills |= callers[i].subject.kind() != callers.front().subject.kind();
  }
  return plan;
}

/// Preparing a chain takes longer than the chain, so only timed work counts as spent, up to this
/// multiple of the budget in total.
constexpr double k_most_time_of_budget = 6;

}  // namespace

Outcome<protocol::FirstCallsResult> conduct_first_calls(const std::vector<FirstCaller>& callers,
                                                        const protocol::FirstCallsArgs& args,
                                                        const Wait& wait) {
  using std::chrono::steady_clock;
  protocol::TurnArgs turn;
  turn.problem = args.problem;
  turn.plan = args.plan;
  turn.placement = args.placement;
  protocol::FirstCallsResult result;
  std::vector<std::unique_ptr<TurnConductor>> conductors;
  const auto fails = [&result](std::size_t caller, Failure failure) {
    result.failed = static_cast<std::int64_t>(caller);
    result.failure = std::move(failure);
    return result;
  };
  ConditionsWatch watch(callers.front().context.gpu);
  watch.look_for_others();
  for (const FirstCaller& caller : callers) {
    auto& conductor = conductors.emplace_back(
        std::make_unique<TurnConductor>(caller.subject, turn, caller.context, wait));
    result.sides.emplace_back();
    if (auto begun = conductor->begin_first_calls(); !begun.ok()) {
      return fails(result.sides.size() - 1, std::move(begun).error());
    }
  }
  const ForeignCpus foreign(callers.front().subject.pid(), callers.front().context.judge.pid());
  QuotaWatch quota(callers.front().context.place.root);
  quota.begin();
  const auto begin = steady_clock::now();
  const auto others_before = other_callers_time(callers);
  const auto budget = std::chrono::duration<double, std::micro>(
      args.budget_us * static_cast<double>(callers.size()));
  const std::int64_t rounds = draw_rounds(args);
  const auto chains = plan_chains(callers, conductors, wait);
  if (!chains.ok()) return fails(0, chains.error());
  const std::int64_t chained = chains->most;
  result.chained = chained > 0;
  for (std::size_t i = 0; i < callers.size(); ++i) {
    auto& side = result.sides[i];
    std::tie(side.overhead_us, side.allowance_us) = conductors[i]->first_call_overhead_us(chained);
  }
  const auto is_time_left = [&] {
    const std::chrono::duration<double, std::micro> passed = steady_clock::now() - begin;
    if (chained == 0) return passed < budget;
    double timed_us = 0;
    for (const auto& conductor : conductors) timed_us += conductor->chained_us();
    return timed_us < budget.count() && passed < k_most_time_of_budget * budget;
  };
  for (std::int64_t round = 0; round < args.least || (round < rounds && is_time_left()); ++round) {
    const auto failed = chained > 0 ? take_chains(conductors, *chains, round, result)
                                    : take_single_calls(conductors, round, result);
    if (failed) return fails(failed->first, failed->second);
  }
  const std::optional<double> all_foreign = foreign.mean();
  const double callers_cpus =
      std::chrono::duration<double>(other_callers_time(callers) - others_before) /
      std::chrono::duration<double>(steady_clock::now() - begin);
  quota.end();
  watch.look_for_others();
  result.flags = watch.flags();
  if (quota.was_stopped()) result.flags.emplace_back(measure::k_flag_cpu_throttled);
  if (!all_foreign || *all_foreign - callers_cpus > k_most_foreign_cpus) {
    result.flags.emplace_back(measure::k_flag_foreign_load);
  }
  if (auto failed = judge_last_calls(conductors)) return fails(failed->first, failed->second);
  return result;
}

}  // namespace wb::worker
