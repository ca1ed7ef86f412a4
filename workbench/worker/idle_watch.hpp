// SPDX-License-Identifier: MIT
// IdleWatch: whether a subject does anything between the flush of the caches and a cold call. Its
// main thread flushes and then waits; what its other threads and processes do meanwhile may be
// fetching what was flushed. Used by turns.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "worker/subject_process.hpp"

namespace wb::worker {

/// By what went on in `gaps` of them: others_us is CPU time of all threads but the main one,
/// after_us all CPU time behind the answer to the flush. A little is the kernel's account, and the
/// main thread going back to wait. That account is behind by up to a clock tick for a thread that
/// has a CPU, so `running` counts the gaps at whose end a thread beside the main one ran.
struct IdleFacts {
  int gaps = 0, running = 0;
  double others_us = 0, after_us = 0;
};
bool was_busy(const IdleFacts& facts);

/// Whether an idle subject's threads go on working when their library's would have gone to sleep:
/// those of OpenMP spin for some 10 ms behind a call. Takes 30 ms.
bool is_restless(const SubjectProcess& subject);

/// What is read of a subject's process; nothing where it cannot be told.
struct IdleAccounts {
  using Time = std::optional<std::chrono::nanoseconds>;
  std::function<Time()> all;   ///< CPU time, all threads together
  std::function<Time()> main;  ///< of the main thread
  std::function<bool()> runs_beside_main;
};
/// By the kernel. The subject must outlive it.
IdleAccounts idle_accounts(const SubjectProcess& subject);

class IdleWatch {
 public:
  explicit IdleWatch(IdleAccounts accounts) : m_accounts(std::move(accounts)) {}
  /// Before the message that ends in a flush. `fills`: its threads make inputs there as well, so
  /// that only what comes after the answer counts.
  void before_flush(bool fills);
  void after_flush();
  /// Before the message that starts the call.
  void before_call();
  [[nodiscard]] const IdleFacts& facts() const { return m_facts; }

 private:
  IdleAccounts m_accounts;
  bool m_counts_others = false;
  IdleAccounts::Time m_all_before, m_main_before, m_all_after;
  IdleFacts m_facts;
};

}  // namespace wb::worker
