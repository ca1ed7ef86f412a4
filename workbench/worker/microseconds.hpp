// SPDX-License-Identifier: MIT
// Durations in microseconds, the unit of all times that the worker reports, and the clock of its
// rules about durations.
#pragma once

#include <chrono>
#include <functional>

namespace wb::worker {

/// The steady clock, or a test's.
using Now = std::function<std::chrono::steady_clock::time_point()>;

inline double us_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

inline double us_between(std::chrono::steady_clock::time_point begin,
                         std::chrono::steady_clock::time_point end) {
  return us_of(end - begin);
}

inline double us_since(std::chrono::steady_clock::time_point begin) {
  return us_between(begin, std::chrono::steady_clock::now());
}

}  // namespace wb::worker
