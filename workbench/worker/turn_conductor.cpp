// SPDX-License-Identifier: MIT
// One turn from its first message to its result.
#include "worker/turn_conductor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/secret.hpp"
#include "measure/quantiles.hpp"
#include "worker/cpu_time.hpp"
#include "worker/microseconds.hpp"

namespace wb::worker {
namespace {

constexpr std::int64_t k_spot_blocks = 4;    ///< row blocks of a spot check
constexpr std::uint32_t k_spot_one_in = 20;  ///< of the blocks before the last
constexpr double k_resolution_calls = 10;    ///< times an empty call
/// Foreign load between two messages must not accuse an honest subject, and a hypervisor's shows in
/// no account of this kernel. A clock that lies does so each time.
constexpr int k_witness_attempts = 6;
/// CPU time of processes that a subject started, beside its timed calls: idle ones have none.
constexpr double k_most_helped_us = 100, k_most_helped_frac = 0.01;
constexpr double k_foreign_load_frac = 0.5;     ///< of the timed part, waiting for a CPU
constexpr std::uint32_t k_restless_one_in = 8;  ///< of the busy turns after a first look

}  // namespace

Outcome<bool> TurnConductor::take_block(bool fresh_inputs, bool last) {
  WB_TRY(prime(fresh_inputs, fresh_inputs, m_blocks.calls_per_sample));
  // Which blocks are judged is drawn after they ran.
  bool picked = false;
  const auto is_picked = [&] {
    picked = m_args.spot_check && (last || draw_secret<std::uint32_t>() % k_spot_one_in == 0);
    return picked;
  };
  m_quota.begin();
  auto time = time_calls(m_blocks.samples_per_block, m_blocks.calls_per_sample, is_picked);
  m_quota.end();
  if (!time.ok()) return std::move(time).error();
  m_times.push_back(*time);
  return picked;
}

Outcome<bool> TurnConductor::spot_fails(const std::string& what) {
  JudgeTask task;
  task.problem = m_args.problem;
  task.seed = m_seed;
  task.draw = m_draw;
  task.out_poison = m_poison;
  task.max_blocks = k_spot_blocks;
  task.threads = m_context.threads;
  WB_TRY_ASSIGN(auto verdict, m_output->judge(task));
  if (!verdict.pass) verdict.reason = fmt::format("after {}: {}", what, verdict.reason);
  m_spot = std::move(verdict);
  return !m_spot->pass;
}

Outcome<void> TurnConductor::take_all_blocks() {
  m_samples_us.clear();
  m_times.clear();
  m_quota.forget();
  for (std::int64_t block = 0; block < m_blocks.blocks; ++block) {
    const bool due = block % m_blocks.refill_every == 0;
    const bool fresh_inputs = due && !std::exchange(m_is_settled_on_inputs, false);
    const bool last = block + 1 == m_blocks.blocks;
    WB_TRY_ASSIGN(const auto picked, take_block(fresh_inputs, last));
    m_watch.after_work(last);  // before the judge computes on the same device
    if (!picked) continue;
    WB_TRY_ASSIGN(const auto fails,
                  spot_fails(fmt::format("timed block {} of {}", block + 1, m_blocks.blocks)));
    if (fails) break;  // wrong: the rest is not worth timing
  }
  return m_subject.expect_silence();
}

/// Between the flush of the caches and the cold calls.
bool TurnConductor::was_at_work() const {
  if (!was_busy(m_idle.facts())) return false;
  if (m_subject.kind() == SubjectKind::native) return true;
  // Threads of a library that spin behind a call are no offense, but those that never sleep are.
  std::optional<bool>& busy_when_idle = m_subject.busy_when_idle();
  if (!busy_when_idle ||
      (!*busy_when_idle && draw_secret<std::uint32_t>() % k_restless_one_in == 0)) {
    busy_when_idle = is_busy_when_idle(m_subject);
  }
  return *busy_when_idle;
}

const EmptyCall& TurnConductor::empty_call() const {
  return m_subject.kind() == SubjectKind::python ? m_context.empty_python : m_context.empty_native;
}

std::vector<BlockFacts> TurnConductor::block_facts() const {
  std::vector<BlockFacts> facts;
  const auto count = static_cast<std::size_t>(m_blocks.samples_per_block);
  for (std::size_t block = 0; block < m_times.size(); ++block) {
    const BlockTime& time = m_times[block];
    facts.push_back({std::span(m_samples_us).subspan(block * count, count),
                     m_blocks.samples_per_block * m_blocks.calls_per_sample,
                     own_us_of(time, m_context.clock)});
  }
  return facts;
}

Witness TurnConductor::witness() const {
  return judge_block_times(m_times, m_pings->most_us);
}

void TurnConductor::compare_with_hot(double figure_us) {
  const bool is_blurred = std::find(m_flags.begin(), m_flags.end(),
                                    measure::k_flag_resolution_limited) != m_flags.end();
  if (m_context.hot_us == nullptr || m_args.plan.kind == measure::PlanKind::eager || is_blurred)
    return;
  const std::string key = fmt::format("{} {}", m_context.subject, problem::to_text(m_args.problem));
  const auto found = m_context.hot_us->find(key);
  if (cold()) {
    if (found != m_context.hot_us->end() && is_below_hot(figure_us, found->second)) {
      add_flag(measure::k_flag_cold_below_hot);
    }
  } else if (found == m_context.hot_us->end()) {
    m_context.hot_us->emplace(key, figure_us);
  } else {
    found->second = std::min(found->second, figure_us);
  }
}

protocol::TurnResult TurnConductor::summary() const {
  protocol::TurnResult result;
  for (const double us :
       samples_of_blocks(block_facts(), *m_pings, m_context.clock, m_args.plan.max_samples)) {
    result.samples_us.push_back(six_digits(us));
  }
  result.calls_per_sample = m_blocks.calls_per_sample;
  for (const BlockTime& time : m_times) {
    result.reported_us += time.samples_us;
    result.wall_us += time.around_us;
  }
  result.conditions = m_watch.conditions();
  result.spot = m_spot;
  result.launches = m_launches;
  return result;
}

/// Each once: several parts of a turn may have seen the same.
void TurnConductor::add_flag(std::string_view flag) {
  if (std::find(m_flags.begin(), m_flags.end(), flag) == m_flags.end()) m_flags.emplace_back(flag);
}

Outcome<protocol::TurnResult> TurnConductor::conduct() {
  m_watch.look_for_others();
  const ForeignCpus others(m_subject.pid(), m_context.judge.pid());
  const SiblingWatch siblings(m_context.place);
  WB_TRY(set_stage());
  m_watch.after_work(true);
  Witness seen = Witness::mismatch;
  const std::int64_t delay_before_ns = m_subject.all_threads_delay_ns();
  const auto helped_before = m_subject.kind() == SubjectKind::python ? m_subject.helpers_time()
                                                                     : std::chrono::nanoseconds(0);
  for (int attempt = 0; attempt < k_witness_attempts && seen == Witness::mismatch; ++attempt) {
    WB_TRY(take_all_blocks());
    if (!m_pings) {
      WB_TRY(measure_pings());
    }
    seen = witness();
    m_is_suspect = seen == Witness::mismatch;
    if (is_wrong()) break;
  }
  m_watch.look_for_others();
  for (const std::string& flag : m_watch.flags()) add_flag(flag);
  protocol::TurnResult result = summary();
  // Between the subject's clock and the supervisor's lies what a quota stopped either of them.
  const bool is_stopped = m_quota.was_stopped();
  // Blocks that did not do their work last as long as they like: what is wrong is told as that.
  if (seen == Witness::mismatch && !is_stopped && !is_wrong()) {
    return m_subject.fail(
        Invalidity::runtime,
        fmt::format("clock_mismatch: the subject reported {:.0f} us for its timed calls, the "
                    "supervisor's clock saw {:.0f} us",
                    result.reported_us, result.wall_us));
  }
  const auto waited_us =
      static_cast<double>(m_subject.all_threads_delay_ns() - delay_before_ns) * 1e-3;
  if (m_args.fresh_calls && m_args.spot_check && m_spot && m_spot->pass && draws_fresh_calls()) {
    WB_TRY(try_large_calls());
    if (m_spot->pass) {
      WB_TRY(try_fresh_calls());
    }
    result.spot = m_spot;
  }
  if (m_subject.kind() == SubjectKind::python && m_context.clock == Clock::host) {
    const double helped_us = us_of(m_subject.helpers_time() - helped_before);
    if (helped_us > k_most_helped_us + k_most_helped_frac * result.wall_us) {
      return m_subject.fail(
          Invalidity::runtime,
          fmt::format("processes that it started worked for {:.0f} us beside its timed calls; only "
                      "its own threads are timed",
                      helped_us));
    }
  }
  if (seen == Witness::too_short) add_flag(k_flag_not_witnessed);
  // On a GPU what the clock itself takes is in each sample once, on the CPU in each call.
  const double sampled_calls =
      m_context.clock == Clock::device ? static_cast<double>(result.calls_per_sample) : 1.0;
  if (!(sampled_calls * measure::median(result.samples_us) >=
        k_resolution_calls * empty_call().timed_us)) {
    add_flag(measure::k_flag_resolution_limited);
  }
  if (cold() && m_context.clock == Clock::host && was_at_work()) add_flag(measure::k_flag_not_idle);
  const bool has_fewer = device::allowed_cpus().size() < m_context.place.allowed.size();
  if (is_stopped) add_flag(measure::k_flag_cpu_throttled);
  if (has_fewer) add_flag(measure::k_flag_fewer_cpus);
  // Who is stopped, or has lost CPUs, waits as well: that is neither others' doing nor its own.
  const bool waited = seen == Witness::excused || left_open_too_often(fresh_record()) ||
                      too_much_waiting(m_times) ||
                      waited_us > k_foreign_load_frac * result.wall_us * m_context.threads;
  const bool by_others = waited && !is_stopped && !has_fewer;
  if (by_others) add_flag(measure::k_flag_foreign_load);
  if (by_others && others.explain_less_than_half_of(waited_us)) {
    add_flag(measure::k_flag_own_threads);
  }
  if (m_context.clock == Clock::host &&
      shares_cores(m_context.place, m_context.threads, siblings.mean(), others.mean())) {
    add_flag(measure::k_flag_foreign_load);
  }
  if (!measure::is_disturbed(m_flags)) compare_with_hot(measure::median(result.samples_us));
  // After the comparison: a late end makes a cold figure longer, so it excuses none below the hot.
  if (may_end_late(m_args.plan.kind, m_context.clock, m_subject.kind() == SubjectKind::python,
                   measure::median(result.samples_us))) {
    add_flag(measure::k_flag_resolution_limited);
  }
  result.flags = m_flags;
  return result;
}

}  // namespace wb::worker
