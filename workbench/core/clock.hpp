// SPDX-License-Identifier: MIT
// The clock seam: code that needs the time of day, a deadline or a pause takes a Clock, so that
// tests set the time and need not wait. Timed samples do not use it; the worker reads its own
// monotonic clock.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace wb {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::system_clock::time_point now() const = 0;
  virtual std::chrono::steady_clock::time_point steady_now() const = 0;
  /// Blocks until this time has passed.
  virtual void sleep(std::chrono::nanoseconds time) const = 0;
};

class RealClock final : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::now();
  }
  std::chrono::steady_clock::time_point steady_now() const override {
    return std::chrono::steady_clock::now();
  }
  void sleep(std::chrono::nanoseconds time) const override { std::this_thread::sleep_for(time); }
};

/// "2026-11-20T18:03:22.123Z", UTC, milliseconds.
std::string to_iso8601(std::chrono::system_clock::time_point time);
/// Parses exactly the form of to_iso8601(); returns nothing for any other text.
std::optional<std::chrono::system_clock::time_point> parse_iso8601(std::string_view text);

}  // namespace wb
