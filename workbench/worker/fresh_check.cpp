// SPDX-License-Identifier: MIT
#include "worker/fresh_check.hpp"

#include <algorithm>
#include <limits>

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

}  // namespace wb::worker
