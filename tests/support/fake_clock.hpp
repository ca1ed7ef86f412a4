// SPDX-License-Identifier: MIT
// A Clock that stands still until the test moves it. Both its times move together.
#pragma once

#include <chrono>

#include "core/clock.hpp"

namespace wb::testing {

class FakeClock final : public Clock {
 public:
  /// 2026-01-02T03:04:05.678Z.
  static constexpr std::chrono::milliseconds k_default_start{1767323045678};

  explicit FakeClock(std::chrono::system_clock::time_point start =
                         std::chrono::system_clock::time_point(k_default_start))
      : m_now(start) {}

  std::chrono::system_clock::time_point now() const override { return m_now; }
  std::chrono::steady_clock::time_point steady_now() const override { return m_steady_now; }

  void advance(std::chrono::nanoseconds step) {
    m_now += std::chrono::duration_cast<std::chrono::system_clock::duration>(step);
    m_steady_now += std::chrono::duration_cast<std::chrono::steady_clock::duration>(step);
  }
  /// Someone set the machine's clock: the time of day jumps, the steady time does not.
  void set_time_of_day(std::chrono::system_clock::time_point time) { m_now = time; }

 private:
  std::chrono::system_clock::time_point m_now;
  std::chrono::steady_clock::time_point m_steady_now{};
};

}  // namespace wb::testing
