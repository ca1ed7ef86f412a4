// SPDX-License-Identifier: MIT
#include "worker/process_table.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/files.hpp"

namespace wb::worker {
namespace {

constexpr std::string_view k_worker_name = "sdpa-wb-worker";
constexpr int k_generations =
    64;  // a longer chain, or one that changes meanwhile, has no known root

struct ProcessStat {
  std::string name;
  char state = 0;    ///< 0: unreadable
  pid_t parent = 0;  ///< 0: none, or unreadable
};

/// Reads "FOLDER/stat" below an open folder, or a full path.
ProcessStat stat_of(int folder_fd, const std::string& folder) {
  const UniqueFd file(::openat(folder_fd, (folder + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t got = file.valid() ? ::read(file.get(), text, sizeof text) : 0;
  // "pid (name) state ppid …": the name may contain anything, so the last ')' ends it.
  const std::string_view line(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t name = line.find('(');
  const std::size_t after_name = line.rfind(')');
  ProcessStat stat;
  if (name == std::string_view::npos || after_name == std::string_view::npos || after_name < name ||
      after_name + 4 >= line.size()) {
    return stat;
  }
  stat.name = line.substr(name + 1, after_name - name - 1);
  stat.state = line[after_name + 2];
  std::from_chars(line.data() + after_name + 4, line.data() + line.size(), stat.parent);
  return stat;
}

std::optional<pid_t> pid_of(const dirent& entry) {
  pid_t pid = 0;
  const std::string_view name = entry.d_name;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (read.ec != std::errc() || read.ptr != name.data() + name.size()) return std::nullopt;
  return pid;
}

/// Calls body(pid) for each number in a folder of /proc.
template <typename Body>
void for_each_number(const std::string& folder, const Body& body) {
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = ::readdir(entries)) {
    if (const auto pid = pid_of(*entry)) body(*pid);
  }
  ::closedir(entries);
}

/// From /proc/PID/task/TID/children; nothing when this kernel has no such lists.
std::optional<std::vector<pid_t>> listed_children(pid_t parent) {
  std::vector<pid_t> pids;
  bool has_lists = true;
  const std::string tasks = fmt::format("/proc/{}/task", parent);
  for_each_number(tasks, [&](pid_t task) {
    const UniqueFd file(
        ::open(fmt::format("{}/{}/children", tasks, task).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) {  // unless the thread has just ended
      has_lists = has_lists && ::access(fmt::format("{}/{}", tasks, task).c_str(), F_OK) != 0;
      return;
    }
    std::string text;
    std::array<char, 4'096> chunk;
    for (ssize_t got = 0; (got = ::read(file.get(), chunk.data(), chunk.size())) > 0;) {
      text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
      pid_t pid = 0;
      const auto read = std::from_chars(at, end, pid);
      if (read.ec == std::errc()) pids.push_back(pid);
      at = std::max(read.ptr, at) + 1;
    }
  });
  if (!has_lists) return std::nullopt;
  return pids;
}

/// Links of every process of the machine.
std::vector<ProcessLink> all_links() {
  std::vector<ProcessLink> links;
  const UniqueFd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for_each_number("/proc", [&](pid_t pid) {
    links.push_back({pid, stat_of(proc.get(), fmt::format("{}", pid)).parent});
  });
  return links;
}

}  // namespace

std::vector<ThreadState> threads_of(pid_t pid) {
  std::vector<ThreadState> threads;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  for_each_number(tasks, [&](pid_t thread) {
    const char state = stat_of(AT_FDCWD, fmt::format("{}/{}", tasks, thread)).state;
    if (state != 0) threads.push_back({thread, state});
  });
  return threads;
}

OnCpu is_on_cpu(pid_t pid, pid_t thread) {
  // To report a thread's system call, the kernel first waits until it has left its CPU.
  const std::string path = fmt::format("/proc/{}/task/{}/syscall", pid, thread);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[256];
  const ssize_t got = file.valid() ? ::read(file.get(), text, sizeof text) : -1;
  if (got <= 0) return OnCpu::unknown;
  const std::string_view said(text, static_cast<std::size_t>(got));
  return said.starts_with("running") ? OnCpu::yes : OnCpu::no;
}

std::vector<ProcessLink> links_below(pid_t root) {
  std::vector<ProcessLink> links;
  std::vector<pid_t> due{root};
  std::set<pid_t> seen{root};
  while (!due.empty()) {
    const pid_t parent = due.back();
    due.pop_back();
    const auto children = listed_children(parent);
    if (!children) return all_links();
    for (const pid_t pid : *children) {
      if (!seen.insert(pid).second) continue;
      links.push_back({pid, parent});
      due.push_back(pid);
    }
  }
  return links;
}

std::vector<pid_t> descendants_in(std::span<const ProcessLink> links,
                                  std::span<const pid_t> roots) {
  std::set<pid_t> known(roots.begin(), roots.end());
  std::vector<pid_t> found;
  for (bool grows = true; grows;) {
    grows = false;
    for (const ProcessLink& link : links) {
      if (!known.contains(link.parent) || !known.insert(link.pid).second) continue;
      found.push_back(link.pid);
      grows = true;
    }
  }
  return found;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> pids;
  for (const ProcessLink& link : all_links()) {
    if (link.parent == parent) pids.push_back(link.pid);
  }
  return pids;
}

bool belongs_to_worker(pid_t pid) {
  const UniqueFd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < k_generations && pid > 1; ++i) {
    if (pid == ::getpid()) return true;
    const ProcessStat stat = stat_of(proc.get(), fmt::format("{}", pid));
    if (stat.name == k_worker_name) return true;
    pid = stat.parent;
  }
  return false;
}

}  // namespace wb::worker
