// SPDX-License-Identifier: MIT
// IdleWatch: whether a subject uses CPU time between the cache flush and a cold call. Its main
// thread flushes and then waits; its other threads and processes might fetch the flushed memory
// again. Used by turns.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "worker/subject_process.hpp"

namespace wb::worker {

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
