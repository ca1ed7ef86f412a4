// SPDX-License-Identifier: MIT
// The kernel's control groups (version 1 and 2) of this process. All files are read below a root,
// so that tests can provide them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace wb::device
