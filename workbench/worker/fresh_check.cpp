// SPDX-License-Identifier: MIT
#include "worker/fresh_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/secret.hpp"
#include "measure/quantiles.hpp"
#include "worker/cpu_time.hpp"
#include "worker/cpu_timing.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {
namespace {

constexpr std::uint32_t k_one_in = 8;  ///< of the turns after the first passed one
constexpr int k_least_tries = 6;       ///< before a subject is accused
constexpr int k_most_tries = 200;
constexpr auto k_budget = std::chrono::milliseconds(300);  ///< how long short calls are repeated
constexpr double k_fresh_factor = 1.5;
constexpr double k_fresh_allowance_us = 200;
constexpr double k_fresh_device_allowance_us = 5;
/// For a Python subject: its library and threads are colder than the loop that calls it, by an
/// amount that an empty call does not show. For PyTorch's SDPA on two CPUs, the fastest of 25 calls
/// on new inputs took 400 to 850 us more than timed ones of 420 to 2000 us, whether an empty call
/// took 71 or 193 us. So the larger of the two allowances counts.
constexpr double k_python_lone_calls = 4.0;
constexpr double k_python_library_us = 1500;
/// An unanswered check warns the subject, which may then behave and pass the next checks; these
/// must not outweigh it.
constexpr int k_most_open = 3, k_open_one_in = 8;

}  // namespace

double lone_allowance_us(double lone_call_us, bool is_python, Clock clock) {
  if (!is_python) return lone_call_us;
  const double python_us = k_python_lone_calls * lone_call_us;
  // On a GPU it starts no threads for a call.
  return clock == Clock::device ? python_us : std::max(python_us, k_python_library_us);
}

double fresh_call_limit_us(double timed_call_us, double allowance_us) {
  return k_fresh_factor * timed_call_us + k_fresh_allowance_us + allowance_us;
}

double fresh_device_limit_us(double timed_call_us, double empty_pair_us) {
  return k_fresh_factor * timed_call_us + k_fresh_device_allowance_us + empty_pair_us;
}

bool is_within(const FreshTimes& times, const FreshTimes& limits) {
  return times.supervisor_us <= limits.supervisor_us && times.subject_us <= limits.subject_us;
}

bool left_open_too_often(const FreshRecord& record) {
  return record.open >= k_most_open && record.open * k_open_one_in >= record.checks;
}

bool needs_fresh_check(const FreshRecord& record, std::uint32_t drawn) {
  return !record.passed || drawn % k_one_in == 0;
}

Outcome<FreshTimes> fastest_call(const std::function<Outcome<FreshTimes>()>& time_one,
                                 const FreshTimes& limits, const Now& now) {
  constexpr double k_none = std::numeric_limits<double>::infinity();
  FreshTimes fastest{k_none, k_none};
  const auto enough = now() + k_budget;
  for (int i = 0;
       i < k_most_tries && !is_within(fastest, limits) && (i < k_least_tries || now() < enough);
       ++i) {
    WB_TRY_ASSIGN(const auto times, time_one());
    fastest.supervisor_us = std::min(fastest.supervisor_us, times.supervisor_us);
    fastest.subject_us = std::min(fastest.subject_us, times.subject_us);
  }
  return fastest;
}

FreshAnswer judge_fresh_check(const FreshTimes& fastest, const FreshTimes& limits,
                              std::optional<double> foreign_cpus, bool has_others_on_device,
                              FreshRecord& record) {
  ++record.checks;
  record.passed = is_within(fastest, limits);
  if (record.passed) return FreshAnswer::passed;
  if (foreign_cpus && *foreign_cpus <= k_most_foreign_cpus && !has_others_on_device) {
    return FreshAnswer::accused;
  }
  ++record.open;
  return FreshAnswer::open;
}

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

}  // namespace wb::worker
