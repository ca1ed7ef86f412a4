// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace wb::problem {

/// The largest of `start` and the values, ignoring NaN. It uses several lanes because a single
/// running maximum would make each comparison wait for the one before.
template <typename T>
T largest(const T* values, std::int64_t count, T start) {
  constexpr std::int64_t k_lanes = 16;
  T lanes[k_lanes];
  for (T& lane : lanes) lane = start;
  std::int64_t i = 0;
  for (; i + k_lanes <= count; i += k_lanes) {
    for (std::int64_t j = 0; j < k_lanes; ++j) {
      lanes[j] = lanes[j] < values[i + j] ? values[i + j] : lanes[j];
    }
  }
  T largest = start;
  for (const T lane : lanes) largest = largest < lane ? lane : largest;
  for (; i < count; ++i) largest = largest < values[i] ? values[i] : largest;
  return largest;
}

}  // namespace wb::problem
