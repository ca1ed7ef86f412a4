// SPDX-License-Identifier: MIT
// In which control groups of the kernel (version 1 and 2) this process is. Everything is read below
// a root, so that a test can plant it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wb::device {

struct ControlGroup {
  std::filesystem::path folder;  ///< where its files are, below the root
  bool is_v2 = false;
};

/// The groups that share out `controller` ("cpu", "memory") among which this process is: its own
/// and those above it, the innermost first, as far as they are mounted here. Of version 2 all
/// groups are given: whether one has the controller its files tell.
std::vector<ControlGroup> control_groups(std::string_view controller,
                                         const std::filesystem::path& root = "/");

/// The least limit of memory (bytes) of those groups; nothing where none has one.
std::optional<std::uint64_t> memory_limit(const std::filesystem::path& root = "/");

/// The least number of processes and threads (pids.max) that those groups may have together, and
/// the file that says so; nothing where none has one.
struct TaskLimit {
  std::int64_t tasks = 0;
  std::string source;
};
std::optional<TaskLimit> task_limit(const std::filesystem::path& root = "/");

/// The text of a file of /proc, /sys or a group, which has no size; empty where there is none.
std::string file_content(const std::filesystem::path& path);

}  // namespace wb::device
