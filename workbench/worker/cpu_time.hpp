// SPDX-License-Identifier: MIT
// CPU time by the kernel's account: of a process, and of other processes on the CPUs that this
// process may use. A subject can spend CPU time, but only its own.
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

/// User and system time of all threads of a process; nothing when it has ended.
std::optional<std::chrono::nanoseconds> cpu_time(pid_t pid);

/// CPU time of a process's reaped children, in clock ticks.
std::chrono::nanoseconds children_time(pid_t pid);

/// Clock ticks that these CPUs were busy for any process, by the text of /proc/stat; time taken by
/// a hypervisor counts. Nothing when a CPU is missing.
std::optional<long long> busy_ticks(const std::string& stat, const std::vector<int>& cpus);
/// Busy time of this process's CPUs, in clock ticks.
std::optional<std::chrono::nanoseconds> busy_time();

/// The mean number of CPUs that others used in `passed`, by an account that grew by `taken`, less
/// the uncertainty of the ticks of `cpus` CPUs; at least 0.
double mean_cpus(std::chrono::nanoseconds taken, std::chrono::nanoseconds passed, std::size_t cpus);

/// Measures from its construction on the CPUs used by neither this process nor `subject`.
class ForeignCpus {
 public:
  /// `judge`: works for this process and does not count as foreign; 0: none.
  explicit ForeignCpus(pid_t subject, pid_t judge = 0);
  /// Their mean number so far, less the uncertainty of clock ticks, at least 0. Nothing when
  /// unknown.
  [[nodiscard]] std::optional<double> mean() const;

  /// True when the time taken by others can explain less than half of `waited_us` of waiting for a
  /// CPU, so that threads of the subject waited for each other. False when unknown.
  [[nodiscard]] bool explain_less_than_half_of(double waited_us) const;

 private:
  using Account = std::optional<std::chrono::nanoseconds>;  ///< of all others, since a fixed time
  [[nodiscard]] Account others() const;
  pid_t m_subject, m_judge;
  std::chrono::steady_clock::time_point m_begin;
  Account m_before;
};

/// The worker's CPUs as of hello; empty in tests.
struct WorkerCpus {
  std::filesystem::path root = "/";  ///< of /proc and /sys
  std::vector<int> allowed = {};
  std::vector<int> siblings = {};  ///< CpuLimits::siblings
  std::int64_t cores = 0;          ///< of the allowed CPUs
};

/// Whether a CPU quota stopped this process's control groups during given intervals. Reads nothing
/// more if there was no quota at construction.
class QuotaWatch {
 public:
  explicit QuotaWatch(const std::filesystem::path& root);
  /// Marks an interval's begin and end.
  void begin();
  void end();
  /// In any interval since the last forget().
  [[nodiscard]] bool was_stopped() const { return m_was_stopped; }
  void forget() { m_was_stopped = false; }

 private:
  std::optional<device::CpuGroups> m_groups;
  device::CpuGroups::Stops m_before;
  bool m_was_stopped = false;
};

/// Measures from its construction on how many CPUs were busy that share a core with allowed CPUs
/// but are not allowed themselves.
class SiblingWatch {
 public:
  explicit SiblingWatch(const WorkerCpus& place);
  /// Their mean number, less the uncertainty of clock ticks. 0 without such CPUs, or when unknown.
  [[nodiscard]] double mean() const;

 private:
  [[nodiscard]] std::optional<std::chrono::nanoseconds> busy() const;
  const WorkerCpus& m_place;
  std::chrono::steady_clock::time_point m_begin;
  std::optional<std::chrono::nanoseconds> m_before;
};

/// True when others certainly used a core of the subject's, on cores with several hardware threads:
/// on a CPU that is not allowed, or on an allowed one when the subject's and others' threads exceed
/// the cores. `foreign_cpus`: ForeignCpus::mean().
bool shares_cores(const WorkerCpus& place, int threads, double sibling_cpus,
                  std::optional<double> foreign_cpus);

}  // namespace wb::worker
