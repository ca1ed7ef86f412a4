// SPDX-License-Identifier: MIT
// Signals other processes, by every call that there is, then does its work.
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>
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
    siginfo_t facts{};
    facts.si_code = SI_QUEUE;
    const int descriptor = static_cast<int>(::syscall(434 /* pidfd_open */, pid, 0));
    if (::kill(pid, 0) == 0 || ::syscall(SYS_tgkill, pid, pid, 0) == 0 ||
        ::syscall(SYS_tkill, pid, 0) == 0 || ::syscall(SYS_rt_sigqueueinfo, pid, 0, &facts) == 0 ||
        descriptor >= 0) {
      return WB_FAILED;
    }
  }
  if (::kill(-1, 0) == 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
