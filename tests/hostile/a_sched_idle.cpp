// SPDX-License-Identifier: MIT
// Sets scheduler, priority and CPUs of other processes, then does its work.
#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
    cpu_set_t cpus;
    sched_param param{};
    const int priority = ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid));
    const bool worked = (::sched_getaffinity(pid, sizeof cpus, &cpus) == 0 &&
                         ::sched_setaffinity(pid, sizeof cpus, &cpus) == 0) ||
                        ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), priority) == 0 ||
                        (::sched_getparam(pid, &param) == 0 && ::sched_setparam(pid, &param) == 0);
    if (worked) return WB_FAILED;
  }
  if (::setpriority(PRIO_USER, 0, ::getpriority(PRIO_USER, 0)) == 0) return WB_FAILED;
  if (::syscall(SYS_ioprio_set, 3 /* of a user */, ::getuid(), 0) == 0) return WB_FAILED;
  // Its own threads are its own.
  cpu_set_t own;
  if (::sched_getaffinity(0, sizeof own, &own) != 0) return WB_FAILED;
  if (::sched_setaffinity(0, sizeof own, &own) != 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
