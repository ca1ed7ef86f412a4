// SPDX-License-Identifier: MIT
// Calls on inputs that the subject never saw: what timed calls on known inputs leave out shows
// here.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "measure/statistics.hpp"
#include "worker/caches.hpp"
#include "worker/cpu_time.hpp"
#include "worker/secret.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {
namespace {

constexpr std::uint32_t k_one_in = 8;  ///< of the turns after the first passed one
constexpr int k_least_tries = 6;       ///< before anyone is accused
constexpr int k_most_tries = 200;
constexpr int k_lone_calls = 9;  ///< of an empty subject, at hello
/// New inputs push code and data of subject and loop out of the caches, so the empty call is timed
/// after that much was read.
constexpr std::size_t k_caches_bytes = 32u << 20;
constexpr auto k_budget = std::chrono::milliseconds(300);  ///< short calls are tried so long
constexpr double k_foreign_cpus = 0.1;  ///< CPUs that others had meanwhile: nobody is accused

}  // namespace

/// Fresh calls cost as much as the turn itself, so not every turn has them: of each code on a
/// problem and plan the first ones do, until one was passed, and so do those after one that other
/// work on the machine left open; which later ones do, in whatever process, is drawn after they
/// ran, so a subject cannot behave for the occasion.
bool TurnConductor::draws_fresh_calls() const {
  return !fresh_record().passed || draw_secret<std::uint32_t>() % k_one_in == 0;
}

FreshRecord& TurnConductor::fresh_record() const {
  return m_context.fresh[fmt::format("{} {} {}", m_context.subject, to_text(m_args.problem),
                                     to_string(m_args.plan.kind))];
}

/// One single call on inputs never seen and into a poisoned output.
Outcome<FreshTimes> TurnConductor::time_fresh_call(std::span<const std::byte> read_between) {
  if (auto primed = prime(true, false, 1); !primed.ok()) return std::move(primed).error();
  if (!read_between.empty()) read_through({read_between}, m_context.threads);
  const std::size_t timed = m_samples_us.size();
  const auto time = time_calls(1, 1);
  if (!time.ok()) return time.error();
  m_samples_us.resize(timed);
  // Not wall_us: a supervisor that wakes up late for "started" would see next to no time. And not
  // less delay_us: that it waits for a CPU the subject can arrange with threads of its own.
  return FreshTimes{time->around_us - time->own_delay_us, time->samples_us};
}

Outcome<double> TurnConductor::lone_call_us() {
  if (auto staged = set_stage(); !staged.ok()) return std::move(staged).error();
  std::vector<double> times_us;
  const std::vector<std::byte> others(k_caches_bytes, std::byte{1});
  for (int i = 0; i < k_lone_calls; ++i) {
    const auto times = time_fresh_call(others);
    if (!times.ok()) return times.error();
    times_us.push_back(times->supervisor_us);
  }
  return median(times_us);
}

/// The fastest of a row of them, by each clock. One within the limits ends the row; so do tries and
/// time enough that other work on the machine cannot have met every one of a short call's.
Outcome<FreshTimes> TurnConductor::time_fresh_calls(const FreshTimes& limits) {
  constexpr double k_none = std::numeric_limits<double>::infinity();
  FreshTimes fastest{k_none, k_none};
  const Deadline enough = std::chrono::steady_clock::now() + k_budget;
  for (int i = 0; i < k_most_tries && !is_within(fastest, limits) &&
                  (i < k_least_tries || std::chrono::steady_clock::now() < enough);
       ++i) {
    const auto times = time_fresh_call({});
    if (!times.ok()) return times.error();
    fastest.supervisor_us = std::min(fastest.supervisor_us, times->supervisor_us);
    fastest.subject_us = std::min(fastest.subject_us, times->subject_us);
  }
  return fastest;
}

/// Timed calls see the same inputs again and again, so a subject may remember its result, or see
/// that it is still there. A single call on inputs that it never saw, into a poisoned output, has
/// all the work to do: by the supervisor's clock, and by a GPU's own, which sees much less, it must
/// not take much longer. What excuses it is CPU time that others took, or others on the device: a
/// subject cannot forge it, and one that may start processes to cause it gains turns that do not
/// count. That it waited, or that a later block is slow as well, it can arrange.
Outcome<void> TurnConductor::try_fresh_calls() {
  const double timed_us = median(m_samples_us);
  const double lone_us = lone_allowance_us(
      empty_call().lone_us, m_subject.kind() == SubjectKind::python, m_context.clock);
  FreshTimes limits{fresh_call_limit_us(timed_us, lone_us),
                    std::numeric_limits<double>::infinity()};
  if (m_context.clock == Clock::device && m_args.plan.kind != PlanKind::eager) {
    limits.subject_us = fresh_device_limit_us(timed_us, m_context.empty_native.timed_us);
  }
  const ForeignCpus foreign(m_subject.pid());
  const auto fastest = time_fresh_calls(limits);
  if (!fastest.ok()) return fastest.error();
  const std::optional<double> foreign_cpus = foreign.mean();
  const auto wrong = spot_fails(m_blocks.blocks);
  if (!wrong.ok()) return wrong.error();
  if (*wrong) return {};
  FreshRecord& record = fresh_record();
  ++record.looks;
  record.passed = is_within(*fastest, limits);
  if (record.passed) return {};
  ConditionsWatch watch(m_context.gpu);
  watch.look_for_others();  // on the device
  if (!foreign_cpus || *foreign_cpus > k_foreign_cpus || !watch.flags().empty()) {
    ++record.open;
    add_flag(k_flag_foreign_load);
    return {};
  }
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

Outcome<double> time_lone_call_us(SubjectProcess& subject, const protocol::TurnArgs& args,
                                  const TurnContext& context, const Wait& wait) {
  return TurnConductor(subject, args, context, wait).lone_call_us();
}

}  // namespace wb::worker
