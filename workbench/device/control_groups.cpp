// SPDX-License-Identifier: MIT
#include "device/control_groups.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include "core/ascii.hpp"

namespace wb::device {
namespace {

namespace fs = std::filesystem;

/// mountinfo escapes blanks in paths as \x01040.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    int code = 0;
    const char* const begin = text.data() + at + 1;
    const bool is_escape = text[at] == '\\' && at + 3 < text.size() &&
                           std::from_chars(begin, begin + 3, code, 8).ptr == begin + 3;
    plain += is_escape ? static_cast<char>(code) : text[at];
    at += is_escape ? 3 : 0;
  }
  return plain;
}

bool has_part(std::string_view list, std::string_view wanted) {
  const auto parts = ascii::parts(list, ',');
  return std::find(parts.begin(), parts.end(), wanted) != parts.end();
}

/// This process's path in the version 2 hierarchy (empty `controller`), or in the version 1
/// hierarchy of the controller, from lines such as "4:cpu,cpuacct:/a/b" and "0::/a/b". Empty when
/// it is in none.
std::string path_of(std::string_view groups, std::string_view controller) {
  for (const std::string_view line : ascii::parts(groups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == std::string_view::npos ? first : first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_part(controllers, controller)) {
      return std::string(line.substr(second + 1));
    }
  }
  return {};
}

void add(std::vector<ControlGroup>& groups, const fs::path& root, std::string_view mount_point,
         std::string_view mounted, std::string_view path, bool is_v2) {
  if (path.empty()) return;
  const fs::path top = root / fs::path(unescaped(mount_point)).relative_path();
  // A container may see only a part of the hierarchy, or get a path outside that part.
  std::string below = fs::path(path).lexically_relative(unescaped(mounted)).string();
  if (below.starts_with("..") || below == ".") below.clear();
  for (fs::path folder = below;; folder = folder.parent_path()) {
    groups.push_back({folder.empty() ? top : top / folder, is_v2});
    if (folder.empty()) return;
  }
}

}  // namespace

std::string file_content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<ControlGroup> control_groups(std::string_view controller, const fs::path& root) {
  std::vector<ControlGroup> groups;
  const std::string lines = file_content(root / "proc/self/cgroup");
  const std::string v1 = path_of(lines, controller), v2 = path_of(lines, {});
  const std::string mounts = file_content(root / "proc/self/mountinfo");
  for (const std::string_view line : ascii::parts(mounts, '\n')) {
    // id, parent, device, root, mount point, options …, "-", type, source, super options
    const auto words = ascii::words(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    if (dash[1] == "cgroup2") add(groups, root, words[4], words[3], v2, true);
    if (dash[1] == "cgroup" && has_part(dash[3], controller)) {
      add(groups, root, words[4], words[3], v1, false);
    }
  }
  return groups;
}

std::optional<TaskLimit> task_limit(const fs::path& root) {
  std::optional<TaskLimit> least;
  for (const ControlGroup& group : control_groups("pids", root)) {
    const fs::path source = group.folder / "pids.max";
    const std::string text = file_content(source);
    const auto words = ascii::words(text);
    const auto tasks = words.empty() ? std::nullopt : ascii::number<std::int64_t>(words.front());
    if (tasks && (!least || *tasks < least->tasks)) least = TaskLimit{*tasks, source.string()};
  }
  return least;
}

std::optional<std::uint64_t> memory_limit(const fs::path& root) {
  std::optional<std::uint64_t> least;
  for (const ControlGroup& group : control_groups("memory", root)) {
    const std::string text =
        file_content(group.folder / (group.is_v2 ? "memory.max" : "memory.limit_in_bytes"));
    const auto words = ascii::words(text);
    // "max" means no limit; version 1 uses a number larger than any memory.
    const auto bytes = words.empty() ? std::nullopt : ascii::number<std::uint64_t>(words.front());
    if (bytes && (!least || *bytes < *least)) least = *bytes;
  }
  return least;
}

}  // namespace wb::device
