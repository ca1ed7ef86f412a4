// SPDX-License-Identifier: MIT
// A Clock that is constant until the test moves it or a thread sleeps by it. Both its times move
// together. Threads may read it while one moves it.
#pragma once

#include <atomic>
#include <chrono>

#include "core/clock.hpp"

namespace wb::testing {

class FakeClock : public Clock {
 public:
  /// 2026-01-02T03:04:05.678Z.
  static constexpr std::chrono::milliseconds k_default_start{1767323045678};

  explicit FakeClock(std::chrono::system_clock::time_point start =
                         std::chrono::system_clock::time_point(k_default_start))
      : m_now(start) {}

  std::chrono::system_clock::time_point now() const override { return m_now; }
  std::chrono::steady_clock::time_point steady_now() const override { return m_steady_now; }
  void sleep(std::chrono::nanoseconds time) const override { move(time); }

  void advance(std::chrono::nanoseconds step) { move(step); }
  /// Someone set the machine's clock: the time of day jumps, the steady time does not.
  void set_time_of_day(std::chrono::system_clock::time_point time) { m_now = time; }

 private:
  void move(std::chrono::nanoseconds step) const {
    m_now = m_now.load() + std::chrono::duration_cast<std::chrono::system_clock::duration>(step);
    m_steady_now =
        m_steady_now.load() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(step);
  }

  mutable std::atomic<std::chrono::system_clock::time_point> m_now;
  mutable std::atomic<std::chrono::steady_clock::time_point> m_steady_now{};
};

/// Who sleeps by it waits for real: where another process or the age of a file is waited for.
class WaitingClock final : public FakeClock {
 public:
  void sleep(std::chrono::nanoseconds time) const override {
    RealClock().sleep(time);
    FakeClock::sleep(time);
  }
};

}  // namespace wb::testing
