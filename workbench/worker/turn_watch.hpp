// SPDX-License-Identifier: MIT
// What the supervisor looks at during a turn besides its clock: the state of the GPU
// (ConditionsWatch), and whether a subject uses CPU time between the cache flush and a cold call
// (IdleWatch). Used by TurnConductor.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/conditions.hpp"
#include "worker/cuda/gpu_monitor.hpp"
#include "worker/microseconds.hpp"
#include "worker/subject_process.hpp"

namespace wb::worker {

/// A slower reading is not repeated between blocks.
inline constexpr std::chrono::microseconds k_cheap_reading{1'000};
/// Shortest time between readings, which keeps them below a tenth of the turn.
inline constexpr std::chrono::milliseconds k_between_readings{10};

/// The state of the GPU during one turn, read by the supervisor between the blocks. It never reads
/// during a block, since the supervisor's clock is the second witness and must see the block's end
/// at once.
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

/// Activity in `gaps` such intervals. others_us: CPU time of all threads but the main one.
/// after_us: all CPU time after the answer to the flush. A little is accounting noise and the main
/// thread returning to its wait. Accounting lags by up to a clock tick for a thread on a CPU, so
/// `running` counts the gaps at whose end another thread was running.
struct IdleFacts {
  int gaps = 0, running = 0;
  double others_us = 0, after_us = 0;
};
bool was_busy(const IdleFacts& facts);

/// True when threads of an idle subject keep working longer than a library's would; OpenMP threads
/// spin for some 10 ms after a call. Takes 30 ms.
bool is_busy_when_idle(const SubjectProcess& subject);

/// The readings of a subject's process; nothing when unknown.
struct IdleAccounts {
  using Time = std::optional<std::chrono::nanoseconds>;
  std::function<Time()> all;   ///< CPU time of all threads together
  std::function<Time()> main;  ///< CPU time of the main thread
  std::function<bool()> runs_beside_main;
};
/// Reads the kernel's accounts. The subject must outlive it.
IdleAccounts idle_accounts(const SubjectProcess& subject);

/// Whether a subject uses CPU time between the cache flush and a cold call. Its main thread flushes
/// and then waits; its other threads and processes might fetch the flushed memory again.
class IdleWatch {
 public:
  explicit IdleWatch(IdleAccounts accounts) : m_accounts(std::move(accounts)) {}
  /// Called before the message that ends in a flush. `fills`: its threads also make inputs there,
  /// so that only time after the answer counts.
  void before_flush(bool fills);
  void after_flush();
  /// Called before the message that starts the call.
  void before_call();
  [[nodiscard]] const IdleFacts& facts() const { return m_facts; }

 private:
  IdleAccounts m_accounts;
  bool m_counts_others = false;
  IdleAccounts::Time m_all_before, m_main_before, m_all_after;
  IdleFacts m_facts;
};

}  // namespace wb::worker
