// SPDX-License-Identifier: MIT
#include "worker/conditions_watch.hpp"

#include "measure/plan.hpp"

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

}  // namespace wb::worker
