// SPDX-License-Identifier: MIT
// ConditionsWatch: what the GPU was doing during one turn, read by the supervisor in the gaps of
// the turn. Never while a block runs: the supervisor's clock is the second witness and must hear at
// once that the block has ended. Who calls: TurnConductor.
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

/// A reading that takes longer is not repeated between blocks.
inline constexpr std::chrono::microseconds k_cheap_reading{1'000};
/// Cheap ones are repeated no more often than this: together they stay below a tenth of the turn.
inline constexpr std::chrono::milliseconds k_between_readings{10};

class ConditionsWatch {
 public:
  /// `monitor` may be null (no GPU): then nothing is read and nothing said.
  explicit ConditionsWatch(const cuda::GpuMonitor* monitor,
                           Now now = std::chrono::steady_clock::now)
      : m_monitor(monitor), m_now(std::move(now)) {}

  /// Before the turn's first work, and after its last.
  void look_for_others();
  /// The device has just been busy with the turn's own calls. Reads after settling and after the
  /// last block, after other blocks as far as that is cheap.
  void after_work(bool always);

  [[nodiscard]] const std::optional<measure::GpuConditions>& conditions() const {
    return m_conditions;
  }
  /// k_flag_throttled; k_flag_foreign_load for others that are busy on the device; where that
  /// cannot be told, k_flag_foreign_process.
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
