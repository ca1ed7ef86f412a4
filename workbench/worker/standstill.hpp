// SPDX-License-Identifier: MIT
// Standstill: every process of a subject, stopped and seen to be stopped, so that what lies in
// memory at that moment can be read before any of them does more. Used by turns and judged runs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "worker/child.hpp"

namespace wb::worker {

/// Which processes belong to a subject.
enum class Kin {
  threads_only,  ///< a system call filter lets it start none: its threads stop with it
  processes      ///< what descends from it too, and what left it
};

/// `leader`, what descends from it, and the strays: what left it and fell to the init of its
/// namespaces, or, where it has none, to this process; sorted.
std::vector<pid_t> kin_of(pid_t leader, const Family& family);

class Standstill {
 public:
  /// Stops `leader`, a child of this process, its group and its kin. Errors: invalid (one of them
  /// ended or would not stop in time).
  static Result<Standstill> of(pid_t leader, const Family& family, Kin kin,
                               std::chrono::milliseconds patience);
  Standstill(Standstill&& other) noexcept;
  Standstill& operator=(Standstill&& other) noexcept;
  /// Lets them go on.
  ~Standstill();

  /// That none of them has run since, by what their threads do now and the kernel's account of CPU
  /// time, and that there are no more of them. A timer's SIGCONT, for one, lets a stopped process
  /// go on.
  [[nodiscard]] bool is_unbroken() const;
  [[nodiscard]] const std::vector<pid_t>& pids() const { return m_pids; }

 private:
  using Account = std::vector<std::chrono::nanoseconds>;  ///< CPU time of each of m_pids
  explicit Standstill(pid_t leader, const Family& family, Kin kin)
      : m_leader(leader), m_family(&family), m_kin(kin) {}
  Result<void> stop(Deadline deadline);
  [[nodiscard]] std::vector<pid_t> find_all() const;
  [[nodiscard]] Account account() const;

  pid_t m_leader;
  const Family* m_family;
  Kin m_kin;
  std::vector<pid_t> m_pids;  // sorted
  Account m_before;
};

}  // namespace wb::worker
