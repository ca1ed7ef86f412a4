// SPDX-License-Identifier: MIT
// ConditionsWatch: the state of the GPU during one turn, read by the supervisor between the blocks.
// It never reads during a block, since the supervisor's clock is the second witness and must see
// the block's end at once. Used by TurnConductor.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/conditions.hpp"
#include "worker/cuda/gpu_monitor.hpp"
#include "worker/now.hpp"

namespace wb::worker {

/// A slower reading is not repeated between blocks.
inline constexpr std::chrono::microseconds k_cheap_reading{1'000};
/// Shortest time between readings, which keeps them below a tenth of the turn.
inline constexpr std::chrono::milliseconds k_between_readings{10};

class ConditionsWatch {
 public:
  /// `monitor` may be null (no GPU): then it reads and reports nothing.
  explicit ConditionsWatch(const cuda::GpuMonitor* monitor,
                           Now now = std::chrono::steady_clock::now)
      : m_monitor(monitor), m_now(std::move(now)) {}

  /// Called before the turn's first work and after its last.
  void look_for_others();
  /// Called right after the device ran the turn's calls. Reads after settling and after the last
  /// block, and after other blocks if readings are cheap.
  void after_work(bool always);

  [[nodiscard]] const std::optional<measure::GpuConditions>& conditions() const {
    return m_conditions;
  }
  /// k_flag_throttled; k_flag_foreign_load when other processes are busy on the device, or
  /// k_flag_foreign_process when that is unknown.
  [[nodiscard]] std::vector<std::string> flags() const;

 private:
  void take(const measure::GpuConditions& more);

  const cuda::GpuMonitor* m_monitor;
  Now m_now;
  std::optional<measure::GpuConditions> m_conditions;
  std::chrono::steady_clock::time_point m_last_reading;
  std::chrono::steady_clock::duration m_cost{};  ///< of the last reading
};

}  // namespace wb::worker
