// SPDX-License-Identifier: MIT
// Limits on the CPUs that a process sees: the kernel's control groups (version 1 and 2) of this
// process with their quotas, and cores shared with CPUs that it may not use. The worker reads them
// at hello and around timed calls; `doctor` shows them. All files are read below a root, so that
// tests can provide them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::device {

struct ControlGroup {
  std::filesystem::path folder;  ///< folder of its files, below the root
  bool is_v2 = false;
};

/// The groups of this process that control `controller` ("cpu", "memory"): its own and the mounted
/// ones above, innermost first. For version 2 all groups are returned; their files show whether
/// they have the controller.
std::vector<ControlGroup> control_groups(std::string_view controller,
                                         const std::filesystem::path& root = "/");

/// The lowest memory limit (bytes) of those groups; nothing without a limit.
std::optional<std::uint64_t> memory_limit(const std::filesystem::path& root = "/");

/// The lowest limit of processes and threads (pids.max) of those groups, and its file; nothing
/// without a limit.
struct TaskLimit {
  std::int64_t tasks = 0;
  std::string source;
};
std::optional<TaskLimit> task_limit(const std::filesystem::path& root = "/");

/// The text of a file in /proc, /sys or a group, whose size is not known in advance; empty when
/// there is no file.
std::string file_content(const std::filesystem::path& path);

/// The control groups (version 1 and 2) that divide CPU time among processes and contain this one:
/// its own and the mounted ones above.
class CpuGroups {
 public:
  explicit CpuGroups(const std::filesystem::path& root = "/")
      : m_groups(control_groups("cpu", root)) {}

  struct Quota {
    double cpus = 0;     ///< seconds of CPU time per second
    std::string source;  ///< the file with the quota
  };
  /// The lowest quota of all groups; nothing without a quota.
  [[nodiscard]] std::optional<Quota> quota() const;

  /// How often, and how long in the kernel's unit, any of the groups was stopped after using up its
  /// quota. It only grows, at the latest when the group may run again.
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
  /// Hardware threads on allowed CPUs' cores that are not allowed themselves.
  std::vector<int> siblings;
};
CpuLimits cpu_limits(const std::vector<int>& allowed, const std::filesystem::path& root = "/");
Json to_json(const CpuLimits& limits);
/// Errors: invalid.
Result<CpuLimits> cpu_limits_from_json(const Json& json);

/// True when the quota is less than the allowed CPUs could provide.
[[nodiscard]] bool is_short(const CpuLimits& limits);
/// "0.3 CPUs of 2 (/sys/fs/cgroup/x/cpu.max)"; empty without a quota.
std::string quota_text(const CpuLimits& limits);
/// The default number of a variant's threads: one per CPU, but no more than a quota keeps running.
std::int64_t default_threads(const CpuLimits& limits);

}  // namespace wb::device
