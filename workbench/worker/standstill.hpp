// SPDX-License-Identifier: MIT
// Standstill: stops every process of a subject and verifies it, so that memory can be read before
// any of them continues. Used by turns and judged runs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "worker/child.hpp"

namespace wb::worker {

/// The processes of a subject that must be stopped.
enum class ProcessScope {
  threads_only,  ///< a system call filter prevents others: its threads stop with it
  processes      ///< its descendants and its strays too
};

/// `leader`, its descendants, and its strays: processes that left it and were reparented to the
/// init of its namespaces or, without one, to this process; sorted.
std::vector<pid_t> processes_of(pid_t leader, const ChildRegistry& registry);

class Standstill {
 public:
  /// Stops `leader`, a child of this process, its group and its related processes. Errors: invalid
  /// (one of them ended or did not stop in time).
  static Result<Standstill> of(pid_t leader, const ChildRegistry& registry, ProcessScope scope,
                               std::chrono::milliseconds patience);
  Standstill(Standstill&& other) noexcept;
  Standstill& operator=(Standstill&& other) noexcept;
  /// Lets them continue.
  ~Standstill();

  /// True when none of them has run since and none was added, by their threads' states and the
  /// kernel's account of CPU time. A timer's SIGCONT, for example, resumes a stopped process.
  [[nodiscard]] bool is_unbroken() const;
  [[nodiscard]] const std::vector<pid_t>& pids() const { return m_pids; }

 private:
  using Account = std::vector<std::chrono::nanoseconds>;  ///< CPU time of each of m_pids
  explicit Standstill(pid_t leader, const ChildRegistry& registry, ProcessScope scope)
      : m_leader(leader), m_registry(&registry), m_scope(scope) {}
  Result<void> stop(Deadline deadline);
  [[nodiscard]] std::vector<pid_t> find_all() const;
  [[nodiscard]] Account account() const;

  pid_t m_leader;
  const ChildRegistry* m_registry;
  ProcessScope m_scope;
  std::vector<pid_t> m_pids;  // sorted
  Account m_before;
};

}  // namespace wb::worker
