// SPDX-License-Identifier: MIT
// Who had the CPUs: the kernel's account of a process's CPU time, and of what others took of the
// CPUs that this process may use. A subject can spend CPU time, but it spends its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu_limits.hpp"

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

/// What a worker knows of its CPUs since hello; in tests nothing.
struct CpuPlace {
  std::filesystem::path root = "/";  ///< of /proc and /sys
  std::vector<int> allowed = {};
  std::vector<int> siblings = {};  ///< CpuLimits::siblings
  std::int64_t cores = 0;          ///< of the allowed CPUs
};

/// Whether a quota of CPU time stopped this process's control groups, by the stretches that are
/// asked about. Without a quota when it was made, it reads nothing more.
class QuotaWatch {
 public:
  explicit QuotaWatch(const std::filesystem::path& root);
  /// Of one stretch: before it, and behind it.
  void begin();
  void end();
  /// In any stretch since the last forget().
  [[nodiscard]] bool was_stopped() const { return m_was_stopped; }
  void forget() { m_was_stopped = false; }

 private:
  std::optional<device::CpuGroups> m_groups;
  device::CpuGroups::Stops m_before;
  bool m_was_stopped = false;
};

/// From its making on: how many of the CPUs were busy that share a core with allowed ones but may
/// not be used here.
class SiblingWatch {
 public:
  explicit SiblingWatch(const CpuPlace& place);
  /// Their mean number, less what the clock ticks leave in doubt. 0 without such CPUs, or where it
  /// cannot be told.
  [[nodiscard]] double mean() const;

 private:
  [[nodiscard]] std::optional<std::chrono::nanoseconds> busy() const;
  const CpuPlace& m_place;
  std::chrono::steady_clock::time_point m_begin;
  std::optional<std::chrono::nanoseconds> m_before;
};

/// Whether others surely worked on a core of the subject's, where each core runs several hardware
/// threads: on one that may not be used here, or on one that may, where its threads and those of
/// others are more than the cores. `foreign_cpus`: ForeignCpus::mean().
bool shares_cores(const CpuPlace& place, int threads, double sibling_cpus,
                  std::optional<double> foreign_cpus);

}  // namespace wb::worker
