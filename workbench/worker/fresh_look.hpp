// SPDX-License-Identifier: MIT
// A look at calls on inputs that a subject never saw: when there is one, how long they may take,
// and what follows from how long they took. No clock and no draw of its own; fresh_calls.cpp has
// both.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "worker/failure.hpp"
#include "worker/now.hpp"
#include "worker/turn_plan.hpp"

namespace wb::worker {

/// What a lone call may take besides its work: of a native subject what an empty one takes when it
/// is timed that way, lone_call_us; of a Python one some times that, and on a CPU at least what its
/// library's threads may need to wake up.
double lone_allowance_us(double lone_call_us, bool is_python, Clock clock);

/// A call on inputs that the subject has not seen, with an output that is poisoned: how long it may
/// take, by the supervisor's clock, beside the timed calls' median. Above that the timed calls left
/// out work that a first call cannot. Half more and 200 us: threads that wake up and cold caches
/// are honest. allowance_us: lone_allowance_us().
double fresh_call_limit_us(double timed_call_us, double allowance_us);

/// The same by a GPU's own clock, which sees neither host nor messages, so that it finds what short
/// calls leave out: half more, 5 us, and what two events with nothing between them take. Not for
/// eager calls: of a lone one the host's launch is the larger part. In 344 pairs of recorded plans
/// on an H200 a call with flushed caches took at most half more than a hot one and 1.7 us.
double fresh_device_limit_us(double timed_call_us, double empty_pair_us);

/// A call on fresh inputs as two clocks saw it.
struct FreshTimes {
  double supervisor_us = 0;  ///< less what the supervisor waited for a CPU
  double subject_us = 0;     ///< the subject's; on a GPU the device's, with its pair of events
};

/// By both clocks; a time that is NaN is not.
bool is_within(const FreshTimes& times, const FreshTimes& limits);

/// What calls on fresh inputs have shown of a code on a problem and plan.
struct FreshRecord {
  bool passed = false;  ///< the last time
  int looks = 0;
  int open = 0;  ///< slow, while others had CPU time: no answer
};

/// Three looks without an answer, and every eighth one at least. Other work on a machine seldom
/// makes six calls in a row slow; a subject that makes all of them slow but hides behind that work
/// is not accused, but its turns count no more.
bool left_open_too_often(const FreshRecord& record);

/// Whether a turn has a look: of each code on a problem and plan the first ones do, until one was
/// passed, and so do those after one that other work on the machine left open; of the later ones
/// one in eight. `drawn`: any number, of which nobody but the supervisor knows.
bool has_fresh_look(const FreshRecord& record, std::uint32_t drawn);

/// The fastest of a row of calls, by each clock. One within the limits ends the row; so do tries
/// and time enough that other work on the machine cannot have met every one of a short call's.
Outcome<FreshTimes> fastest_call(const std::function<Outcome<FreshTimes>()>& time_one,
                                 const FreshTimes& limits, const Now& now);

enum class FreshAnswer {
  passed,
  open,    ///< slow, while others had the machine: nobody is accused
  accused  ///< timed calls leave out work
};
/// What a look at calls of which the fastest took so long says, and notes in the record.
/// foreign_cpus: CPUs that others had meanwhile, nothing where that is unknown.
/// has_others_on_device: of a GPU.
FreshAnswer judge_fresh_look(const FreshTimes& fastest, const FreshTimes& limits,
                             std::optional<double> foreign_cpus, bool has_others_on_device,
                             FreshRecord& record);

/// CPUs that others had meanwhile: above that nobody is accused.
inline constexpr double k_most_foreign_cpus = 0.1;

}  // namespace wb::worker
