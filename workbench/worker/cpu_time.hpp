// SPDX-License-Identifier: MIT
// Who had the CPUs: the kernel's account of a process's CPU time, and of what others took of the
// CPUs that this process may use. A subject can spend CPU time, but it spends its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace wb::worker {

/// User and system time of a process, all its threads together; nothing when it is gone.
std::optional<std::chrono::nanoseconds> cpu_time(pid_t pid);

/// That of the children of a process that it has reaped, in steps of a clock tick.
std::chrono::nanoseconds children_time(pid_t pid);

/// Clock ticks that these CPUs were busy by the text of /proc/stat, whoever had them; what a
/// hypervisor took counts. Nothing where it does not say that of each.
std::optional<long long> busy_ticks(const std::string& stat, const std::vector<int>& cpus);
/// The same of this process's CPUs, as a time. In steps of a clock tick.
std::optional<std::chrono::nanoseconds> busy_time();

/// How many CPUs others had in `passed`, by an account that grew by `taken`: less what the ticks of
/// `cpus` CPUs leave in doubt, at least 0.
double mean_cpus(std::chrono::nanoseconds taken, std::chrono::nanoseconds passed, std::size_t cpus);

/// From its making on: the CPUs that neither this process nor `subject` had.
class ForeignCpus {
 public:
  /// `judge`: works for this process and is no other; 0: none.
  explicit ForeignCpus(pid_t subject, pid_t judge = 0);
  /// Their mean number until now, less what the clock ticks leave in doubt, at least 0. Nothing
  /// when it cannot be told.
  [[nodiscard]] std::optional<double> mean() const;

  /// Whether what others took could be but the smaller part of `waited_us` of waiting for a CPU:
  /// then threads of the subject waited for each other. False when it cannot be told.
  [[nodiscard]] bool explain_less_than_half_of(double waited_us) const;

 private:
  using Account = std::optional<std::chrono::nanoseconds>;  ///< of all others, since some time
  [[nodiscard]] Account others() const;
  pid_t m_subject, m_judge;
  std::chrono::steady_clock::time_point m_begin;
  Account m_before;
};

}  // namespace wb::worker
