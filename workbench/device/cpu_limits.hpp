// SPDX-License-Identifier: MIT
// What keeps a process from the CPUs that it sees: quotas of CPU time by control groups, and cores
// that it shares with CPUs it may not use. The worker reads it at hello and around timed calls,
// `doctor` shows it. Everything is read below a root, so that a test can plant it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "device/control_groups.hpp"

namespace wb::device {

/// The control groups (version 1 and 2) that share out CPU time among which this process is: its
/// own and those above it, as far as they are mounted here.
class CpuGroups {
 public:
  explicit CpuGroups(const std::filesystem::path& root = "/")
      : m_groups(control_groups("cpu", root)) {}

  struct Quota {
    double cpus = 0;     ///< seconds of CPU time a second
    std::string source;  ///< the file that says so
  };
  /// The least quota of all the groups; nothing where none has one.
  [[nodiscard]] std::optional<Quota> quota() const;

  /// How often, and how long in whatever unit the kernel counts, any of the groups was stopped
  /// because it had used up its quota. It only grows, at the latest when the group may run again.
  struct Stops {
    std::int64_t periods = 0, time = 0;
    friend bool operator==(const Stops&, const Stops&) = default;
  };
  [[nodiscard]] Stops stops() const;

 private:
  std::vector<ControlGroup> m_groups;
};

struct CpuLimits {
  std::optional<CpuGroups::Quota> quota;
  std::vector<int> allowed, online;
  std::vector<int> siblings;  ///< hardware threads of allowed CPUs' cores that are not allowed
};
CpuLimits cpu_limits(const std::vector<int>& allowed, const std::filesystem::path& root = "/");
Json to_json(const CpuLimits& limits);
/// Errors: invalid.
Result<CpuLimits> cpu_limits_from_json(const Json& json);

/// Whether the quota is less than what the allowed CPUs could give.
[[nodiscard]] bool is_short(const CpuLimits& limits);
/// "0.3 CPUs of 2 (/sys/fs/cgroup/x/cpu.max)"; empty without a quota.
std::string quota_text(const CpuLimits& limits);
/// How many threads a variant gets where nobody says: one for each CPU, but no more than a quota
/// can keep running.
std::int64_t default_threads(const CpuLimits& limits);

}  // namespace wb::device
