// SPDX-License-Identifier: MIT
// Waiting for what another process or thread does, where no latch can tell of it.
#pragma once

#include <chrono>
#include <thread>

namespace wb::testing {

/// Looks again and again whether `holds()`; false after a minute, against what never comes.
template <typename Condition>
bool until(const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace wb::testing
