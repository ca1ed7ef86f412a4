// SPDX-License-Identifier: MIT
#include "device/cpu_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string_view>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "device/device.hpp"

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

namespace {

std::string_view first_word(std::string_view text) {
  const auto words = ascii::words(text);
  return words.empty() ? std::string_view() : words.front();
}

std::optional<double> quota_of(const std::string& quota, const std::string& period) {
  const auto most = ascii::number<std::int64_t>(first_word(quota));  // "max" and -1 mean no quota
  const auto of = ascii::number<std::int64_t>(first_word(period));
  if (!most || !of || *most <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*most) / static_cast<double>(*of);
}

std::vector<int> cpus_of(const std::string& text) {
  const auto cpus = parse_cpu_set(first_word(text));
  return cpus.ok() ? *cpus : std::vector<int>{};
}

}  // namespace

std::optional<CpuGroups::Quota> CpuGroups::quota() const {
  std::optional<Quota> least;
  for (const ControlGroup& group : m_groups) {
    const fs::path source = group.folder / (group.is_v2 ? "cpu.max" : "cpu.cfs_quota_us");
    const std::string text = file_content(source);
    const auto words = ascii::words(text);
    const std::string period = !group.is_v2       ? file_content(group.folder / "cpu.cfs_period_us")
                               : words.size() > 1 ? std::string(words[1])
                                                  : std::string();
    const auto cpus = quota_of(text, period);
    if (cpus && (!least || *cpus < least->cpus)) least = Quota{*cpus, source.string()};
  }
  return least;
}

CpuGroups::Stops CpuGroups::stops() const {
  Stops all;
  for (const ControlGroup& group : m_groups) {
    const std::string text = file_content(group.folder / "cpu.stat");
    for (const std::string_view line : ascii::parts(text, '\n')) {
      const auto words = ascii::words(line);
      if (words.size() != 2) continue;
      const std::int64_t value = ascii::number<std::int64_t>(words[1]).value_or(0);
      if (words[0] == "nr_throttled") all.periods += value;
      if (words[0] == "throttled_usec" || words[0] == "throttled_time") all.time += value;
    }
  }
  return all;
}

CpuLimits cpu_limits(const std::vector<int>& allowed, const fs::path& root) {
  CpuLimits limits;
  limits.quota = CpuGroups(root).quota();
  limits.allowed = allowed;
  const fs::path cpus = root / "sys/devices/system/cpu";
  limits.online = cpus_of(file_content(cpus / "online"));
  for (const int cpu : allowed) {
    const fs::path file = cpus / fmt::format("cpu{}", cpu) / "topology/thread_siblings_list";
    for (const int sibling : cpus_of(file_content(file))) {
      if (std::find(allowed.begin(), allowed.end(), sibling) != allowed.end()) continue;
      limits.siblings.push_back(sibling);
    }
  }
  std::sort(limits.siblings.begin(), limits.siblings.end());
  limits.siblings.erase(std::unique(limits.siblings.begin(), limits.siblings.end()),
                        limits.siblings.end());
  return limits;
}

Json to_json(const CpuLimits& limits) {
  Json json{{"allowed", cpu_set_text(limits.allowed)},
            {"online", cpu_set_text(limits.online)},
            {"siblings", cpu_set_text(limits.siblings)}};
  if (limits.quota) {
    json["quota"] = {{"cpus", limits.quota->cpus}, {"source", limits.quota->source}};
  }
  return json;
}

Result<CpuLimits> cpu_limits_from_json(const Json& json) {
  ObjectReader reader(json, "limits of the CPUs");
  CpuLimits limits;
  limits.allowed = cpus_of(reader.string("allowed"));
  limits.online = cpus_of(reader.string("online"));
  limits.siblings = cpus_of(reader.string("siblings"));
  const Json* quota = reader.member("quota");
  WB_TRY(reader.finish(true));
  if (quota != nullptr) {
    ObjectReader of_quota(*quota, "a quota of CPU time");
    limits.quota = CpuGroups::Quota{of_quota.real("cpus"), of_quota.string("source")};
    if (!(limits.quota->cpus > 0)) of_quota.fail("cpus", "must be above 0");
    WB_TRY(of_quota.finish(true));
  }
  return limits;
}

bool is_short(const CpuLimits& limits) {
  return limits.quota && limits.quota->cpus < static_cast<double>(limits.allowed.size());
}

std::string quota_text(const CpuLimits& limits) {
  if (!limits.quota) return {};
  return fmt::format("{:.3g} CPUs of {} ({})", limits.quota->cpus, limits.allowed.size(),
                     limits.quota->source);
}

std::int64_t default_threads(const CpuLimits& limits) {
  const auto all = static_cast<std::int64_t>(limits.allowed.size());
  if (!is_short(limits)) return std::max<std::int64_t>(all, 1);
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(limits.quota->cpus)), 1);
}

}  // namespace wb::device
