// SPDX-License-Identifier: MIT
// Calls on inputs that the subject never saw, which show what timed calls on known inputs leave
// out.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>

#include "core/json.hpp"
#include "core/secret.hpp"
#include "measure/statistics.hpp"
#include "worker/cpu_time.hpp"
#include "worker/cpu_timing.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {
namespace {

constexpr int k_lone_calls = 9;  ///< of an empty subject, at hello
/// New inputs displace code and data of subject and loop from the caches, so the empty call is
/// timed after reading this much.
constexpr std::size_t k_caches_bytes = 32u << 20;

}  // namespace

/// Fresh calls cost as much as the turn itself, so not every turn has them. Which turns do, in any
/// process, is drawn after they ran, so that a subject cannot behave differently for them.
bool TurnConductor::draws_fresh_calls() const {
  return needs_fresh_check(fresh_record(), draw_secret<std::uint32_t>());
}

FreshRecord& TurnConductor::fresh_record() const {
  return m_context
      .fresh[fmt::format("{} {} {}", m_context.subject, problem::to_text(m_args.problem),
                         to_string(m_args.plan.kind))];
}

/// One single call on unseen inputs into a poisoned output.
Outcome<FreshTimes> TurnConductor::time_fresh_call(std::span<const std::byte> read_between) {
  WB_TRY(prime(true, false, 1));
  if (!read_between.empty()) read_through({read_between}, m_context.threads);
  const std::size_t timed = m_samples_us.size();
  WB_TRY_ASSIGN(const auto time, time_calls(1, 1));
  m_samples_us.resize(timed);
  // Not wall_us, since a supervisor that wakes up late for "started" would measure almost nothing.
  // And not less delay_us, since a subject can cause its own waiting for a CPU with its threads.
  return FreshTimes{time.around_us - time.own_delay_us, time.samples_us};
}

Outcome<double> TurnConductor::lone_call_us() {
  WB_TRY(set_stage());
  std::vector<double> times_us;
  const std::vector<std::byte> others(k_caches_bytes, std::byte{1});
  for (int i = 0; i < k_lone_calls; ++i) {
    WB_TRY_ASSIGN(const auto times, time_fresh_call(others));
    times_us.push_back(times.supervisor_us);
  }
  return measure::median(times_us);
}

/// Timed calls repeat the same inputs, so a subject may remember its result or see that it is still
/// there. A single call on unseen inputs into a poisoned output must do all the work; by the
/// supervisor's clock, and by a GPU's own, which excludes much overhead, it must not take much
/// longer. Only CPU time or device use by others excuses it: a subject cannot forge these, and one
/// that starts processes to cause them gets turns that do not count. Waiting, or a slow later
/// block, it could arrange itself.
Outcome<void> TurnConductor::try_fresh_calls() {
  const double timed_us = measure::median(m_samples_us);
  const double lone_us = lone_allowance_us(
      empty_call().lone_us, m_subject.kind() == SubjectKind::python, m_context.clock);
  FreshTimes limits{fresh_call_limit_us(timed_us, lone_us),
                    std::numeric_limits<double>::infinity()};
  if (m_context.clock == Clock::device && m_args.plan.kind != measure::PlanKind::eager) {
    limits.subject_us = fresh_device_limit_us(timed_us, m_context.empty_native.timed_us);
  }
  const ForeignCpus foreign(m_subject.pid());
  QuotaWatch quota(m_context.place.root);
  quota.begin();
  const auto fastest =
      fastest_call([this] { return time_fresh_call({}); }, limits, std::chrono::steady_clock::now);
  if (!fastest.ok()) return fastest.error();
  quota.end();
  // A subject that a quota stopped is not accused either.
  const std::optional<double> foreign_cpus = quota.was_stopped() ? std::nullopt : foreign.mean();
  WB_TRY_ASSIGN(const auto wrong, spot_fails("a call on fresh inputs"));
  if (wrong) return {};
  ConditionsWatch watch(m_context.gpu);
  if (!is_within(*fastest, limits)) watch.look_for_others();  // on the device
  const FreshAnswer answer =
      judge_fresh_check(*fastest, limits, foreign_cpus, !watch.flags().empty(), fresh_record());
  if (answer == FreshAnswer::open) {
    add_flag(quota.was_stopped() ? measure::k_flag_cpu_throttled : measure::k_flag_foreign_load);
  }
  if (answer != FreshAnswer::accused) return {};
  const std::string seen =
      fastest->supervisor_us <= limits.supervisor_us
          ? fmt::format(
                "{:.1f} us by the device's clock, its timed calls {:.1f} us ({:.1f} us are "
                "allowed)",
                fastest->subject_us, timed_us, limits.subject_us)
          : fmt::format(
                "{:.0f} us by the supervisor's clock, its timed calls {:.0f} us ({:.0f} us "
                "are allowed for an empty call)",
                fastest->supervisor_us, timed_us, lone_us);
  return m_subject.fail(
      Invalidity::runtime,
      fmt::format("fresh inputs: a call on inputs it had not seen took {}: they leave out work",
                  seen));
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

Outcome<double> time_lone_call_us(SubjectProcess& subject, const protocol::TurnArgs& args,
                                  const TurnContext& context, const Wait& wait) {
  return TurnConductor(subject, args, context, wait).lone_call_us();
}

}  // namespace wb::worker
