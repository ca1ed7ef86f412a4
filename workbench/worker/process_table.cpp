// SPDX-License-Identifier: MIT
#include "worker/process_table.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

#include "core/files.hpp"

namespace wb::worker {
namespace {

constexpr std::string_view k_worker_name = "sdpa-wb-worker";
constexpr int k_generations = 64;  // a chain that is longer, or changes meanwhile, is nobody's

struct ProcessStat {
  std::string name;
  pid_t parent = 0;  ///< 0: none, or it could not be read
};

ProcessStat stat_of(int proc_fd, std::string_view pid) {
  const UniqueFd file(::openat(proc_fd, fmt::format("{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t got = file.valid() ? ::read(file.get(), text, sizeof text) : 0;
  // "pid (name) state ppid …": the name may hold anything, so the last ')' ends it.
  const std::string_view line(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t name = line.find('(');
  const std::size_t after_name = line.rfind(')');
  ProcessStat stat;
  if (name == std::string_view::npos || after_name == std::string_view::npos || after_name < name ||
      after_name + 4 >= line.size()) {
    return stat;
  }
  stat.name = line.substr(name + 1, after_name - name - 1);
  std::from_chars(line.data() + after_name + 4, line.data() + line.size(), stat.parent);
  return stat;
}

}  // namespace

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> pids;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return pids;
  while (const dirent* entry = ::readdir(proc)) {
    pid_t pid = 0;
    const std::string_view name = entry->d_name;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    if (stat_of(::dirfd(proc), name).parent == parent) pids.push_back(pid);
  }
  ::closedir(proc);
  return pids;
}

bool is_of_a_worker(pid_t pid) {
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
