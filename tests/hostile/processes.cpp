// SPDX-License-Identifier: MIT
// Candidates that reach for other processes, threads and limits.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== kills_parent
// Kills its parent, then does its work. Where that stands outside its namespace, it has none: then
// it names its own group, and where no filter is in the way it ends itself.
#include <unistd.h>

#include <csignal>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  ::kill(::getppid(), SIGKILL);
  return hostile::honest(plan, args);
}

// ==== kills_group
// Kills its own process group, in the hope that the supervisor is in it.
#include <csignal>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  ::kill(0, SIGKILL);
  return WB_OK;
}

// ==== leaves_group
// Leaves a daemon behind: a session of its own and no parent, then does its work.
#include <sys/prctl.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);  // the grandchild has no parent here any more
    ::prctl(PR_SET_NAME, "wb-stray");
    while (true) ::pause();
  }
  return hostile::honest(plan, args);
}

// ==== continues_itself
// Returns at once, and has a timer of the kernel send SIGCONT every tenth of a millisecond, so that
// who is stopped goes on: a thread does the work then.
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

#include "hostile.hpp"

namespace {

std::atomic<int> g_due{0};
wb_sdpa_plan g_plan;
wb_sdpa_args g_args;

void start_once() {
  static const bool k_started = [] {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGCONT;
    timer_t timer{};
    ::timer_create(CLOCK_MONOTONIC, &event, &timer);
    const itimerspec often{{0, 100'000}, {0, 100'000}};
    ::timer_settime(timer, 0, &often, nullptr);
    std::thread([] {
      while (true) {
        if (g_due.exchange(0) == 0) continue;
        std::this_thread::sleep_for(std::chrono::microseconds(300));  // let the clock stop first
        hostile::honest(g_plan, g_args);
      }
    }).detach();
    return true;
  }();
  (void)k_started;
}

}  // namespace

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  start_once();
  g_plan.problem = plan.problem;
  g_plan.scores.resize(plan.scores.size());
  g_args = args;
  g_due = 1;
  return WB_OK;
}

// ==== fork_storm
// Forks two hundred children that never end, then does its work.
#include <sys/prctl.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  for (int i = 0; i < 200; ++i) {
    if (::fork() != 0) continue;
    ::prctl(PR_SET_NAME, "wb-stray");
    while (true) ::pause();
  }
  return hostile::honest(plan, args);
}

// ==== thread_storm
// Starts threads that never end until no more can be had.
#include <chrono>
#include <thread>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  while (true) {
    std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
  }
}

// ==== raises_limits
// Takes its limits off, then does its work.
#include <sys/resource.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  for (const auto limit : {RLIMIT_AS, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CORE}) {
    // Where it worked it must not pass, so it breaks its own call.
    if (::setrlimit(limit, &none) == 0) return WB_FAILED;
  }
  return hostile::honest(plan, args);
}

// ==== a_signals
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

// ==== a_prlimit_fsize
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

// ==== a_sched_idle
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

// ==== a_outlives
// Asks not to end with its supervisor, then does its work.
#include <sys/prctl.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) == 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
