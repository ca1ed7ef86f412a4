// SPDX-License-Identifier: MIT
// Sets limits of other processes, to what they are, then does its work.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cstdlib>

#include "hostile.hpp"

/// The processes that it can see, but for itself and the one that holds its namespaces together.
static std::vector<int> others() {
  std::vector<int> pids;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return pids;
  while (const dirent* entry = ::readdir(proc)) {
    const int pid = std::atoi(entry->d_name);
    const bool is_init = pid == 1 && ::getppid() == 0;
    if (pid > 0 && pid != ::getpid() && !is_init) pids.push_back(pid);
  }
  ::closedir(proc);
  return pids;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  for (const int pid : others()) {
    rlimit now{};
    if (::prlimit(pid, RLIMIT_FSIZE, nullptr, &now) != 0) continue;
    if (::prlimit(pid, RLIMIT_FSIZE, &now, nullptr) == 0) return WB_FAILED;
  }
  // At a limit of CPU time the kernel would end it as if somebody else had.
  const rlimit soon{1, 1};
  if (::setrlimit(RLIMIT_CPU, &soon) == 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
