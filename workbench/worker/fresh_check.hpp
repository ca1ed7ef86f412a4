// SPDX-License-Identifier: MIT
// Checks calls on inputs that a subject never saw: when to check, how long such calls may take, and
// what their times mean. These rules have no clock and draw nothing; the calls themselves, which
// are a part of TurnConductor, are beside them in fresh_check.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "worker/failure.hpp"
#include "worker/microseconds.hpp"
#include "worker/turn_plan.hpp"

namespace wb::worker {

/// The overhead allowed for a single call. Native subject: lone_call_us, the time of an empty call
/// measured that way. Python subject: a multiple of it, and on a CPU at least what its library's
/// threads may need to wake up.
double lone_allowance_us(double lone_call_us, bool is_python, Clock clock);

/// The longest time, by the supervisor's clock, of a call on unseen inputs with a poisoned output,
/// given the timed calls' median. A slower first call means that timed calls leave out work. Half
/// more and 200 us are allowed for waking threads and cold caches. allowance_us:
/// lone_allowance_us().
double fresh_call_limit_us(double timed_call_us, double allowance_us);

/// The limit by a GPU's own clock, which excludes host and messages and so detects work left out of
/// short calls: half more, 5 us, and an empty pair of events. Not for eager calls, since a single
/// one consists mostly of the host's launch. In 344 pairs of recorded plans on an H200 a call with
/// flushed caches took at most half more than a hot one plus 1.7 us.
double fresh_device_limit_us(double timed_call_us, double empty_pair_us);

/// A call on fresh inputs by two clocks.
struct FreshTimes {
  double supervisor_us = 0;  ///< less the supervisor's waits for a CPU
  /// By the subject's clock; on a GPU the device's, with its pair of events.
  double subject_us = 0;
};

/// True when both times are within their limits; NaN is not.
bool is_within(const FreshTimes& times, const FreshTimes& limits);

/// Results of the checks of one code on a problem and plan.
struct FreshRecord {
  bool passed = false;  ///< result of the last check
  int checks = 0;
  int open = 0;  ///< slow while others used CPU time: no answer
};

/// True after three unanswered checks, which are an eighth of all or more. Other work seldom makes
/// six successive calls slow. A subject that is always slow under cover of other work is not
/// accused, but its turns do not count any more.
bool left_open_too_often(const FreshRecord& record);

/// Whether a turn has a check. For each code, problem and plan: every turn until a check passes,
/// and after a check left open by other work; later one turn in eight. `drawn`: a random number
/// that only the supervisor knows.
bool needs_fresh_check(const FreshRecord& record, std::uint32_t drawn);

/// The fastest of several calls, by each clock. Stops at a call within the limits, or after enough
/// tries and time that other work cannot have slowed every short call.
Outcome<FreshTimes> fastest_call(const std::function<Outcome<FreshTimes>()>& time_one,
                                 const FreshTimes& limits, const Now& now);

enum class FreshAnswer {
  passed,
  open,    ///< slow while others used the machine: nobody is accused
  accused  ///< timed calls leave out work
};
/// The result of a check whose fastest call took `fastest`; updates the record. foreign_cpus: CPUs
/// used by others meanwhile, nothing when unknown. has_others_on_device: for a GPU.
FreshAnswer judge_fresh_check(const FreshTimes& fastest, const FreshTimes& limits,
                              std::optional<double> foreign_cpus, bool has_others_on_device,
                              FreshRecord& record);

/// Above this many CPUs used by others, nobody is accused.
inline constexpr double k_most_foreign_cpus = 0.1;

}  // namespace wb::worker
