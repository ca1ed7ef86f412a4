// SPDX-License-Identifier: MIT
// Durations in microseconds, the unit of all times that the worker reports.
#pragma once

#include <chrono>

namespace wb::worker {

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
