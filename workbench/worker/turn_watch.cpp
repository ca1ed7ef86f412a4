// SPDX-License-Identifier: MIT
#include "worker/turn_watch.hpp"

#include <algorithm>
#include <thread>

#include "measure/plan.hpp"
#include "worker/cpu_time.hpp"
#include "worker/microseconds.hpp"
#include "worker/process_table.hpp"

namespace wb::worker {

void ConditionsWatch::take(const measure::GpuConditions& more) {
  if (!m_conditions) {
    m_conditions = more;
  } else {
    measure::merge(*m_conditions, more);
  }
}

void ConditionsWatch::look_for_others() {
  if (m_monitor != nullptr) take(m_monitor->look_for_others());
}

void ConditionsWatch::after_work(bool always) {
  if (m_monitor == nullptr) return;
  const auto begin = m_now();
  const bool is_due = m_cost < k_cheap_reading && begin - m_last_reading >= k_between_readings;
  if (!always && !is_due) return;
  take(m_monitor->read());
  m_last_reading = m_now();
  m_cost = m_last_reading - begin;
}

std::vector<std::string> ConditionsWatch::flags() const {
  std::vector<std::string> flags;
  if (!m_conditions) return flags;
  if (measure::has_slowdown(*m_conditions)) flags.emplace_back(measure::k_flag_throttled);
  const auto& others = m_conditions->other_processes;
  if (!others || others->count == 0) return flags;
  if (!others->busy) {
    flags.emplace_back(measure::k_flag_foreign_process);
  } else if (*others->busy > 0) {
    flags.emplace_back(measure::k_flag_foreign_load);
  }
  return flags;
}

namespace {

/// Average limits in microseconds per gap.
constexpr double k_most_others_us = 20, k_most_after_us = 50;
/// Share of gaps: fewer than half, since the median hides that many; an honest thread may still be
/// going to sleep.
constexpr double k_most_running_frac = 0.25;
constexpr std::chrono::milliseconds k_library_patience{25}, k_look{5};
constexpr double k_most_restless_us = 200;

bool runs_beside_main(pid_t pid) {
  const std::vector<ThreadState> threads = threads_of(pid);
  return std::any_of(threads.begin(), threads.end(), [pid](const ThreadState& thread) {
    return thread.thread != pid && thread.state == 'R';
  });
}

}  // namespace

bool was_busy(const IdleFacts& facts) {
  return facts.running > k_most_running_frac * facts.gaps ||
         facts.others_us > k_most_others_us * facts.gaps ||
         facts.after_us > k_most_after_us * facts.gaps;
}

bool is_busy_when_idle(const SubjectProcess& subject) {
  std::this_thread::sleep_for(k_library_patience);
  const auto before = cpu_time(subject.pid());
  const bool ran = runs_beside_main(subject.pid());
  std::this_thread::sleep_for(k_look);
  // A thread that was on a CPU the whole time may not be accounted yet.
  if (ran && runs_beside_main(subject.pid())) return true;
  const auto after = cpu_time(subject.pid());
  return before && after && us_of(*after - *before) > k_most_restless_us;
}

IdleAccounts idle_accounts(const SubjectProcess& subject) {
  return {[&subject] { return cpu_time(subject.pid()); },
          [&subject] { return subject.main_thread_time(); },
          [&subject] { return runs_beside_main(subject.pid()); }};
}

void IdleWatch::before_flush(bool fills) {
  m_counts_others = !fills;
  m_all_before = m_accounts.all();
  m_main_before = m_accounts.main();
}

void IdleWatch::after_flush() {
  m_all_after = m_accounts.all();
}

void IdleWatch::before_call() {
  const IdleAccounts::Time all_now = m_accounts.all(), main_now = m_accounts.main();
  ++m_facts.gaps;
  if (m_accounts.runs_beside_main()) ++m_facts.running;
  if (all_now && m_all_after) m_facts.after_us += us_of(*all_now - *m_all_after);
  if (!m_counts_others || !all_now || !m_all_before || !main_now || !m_main_before) return;
  const auto others = (*all_now - *m_all_before) - (*main_now - *m_main_before);
  m_facts.others_us += std::max(us_of(others), 0.0);
}

}  // namespace wb::worker
