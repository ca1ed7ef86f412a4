// SPDX-License-Identifier: MIT
#include "worker/seccomp.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <thread>

#include "core/files.hpp"
#include "support/catch.hpp"
#include "worker/confine.hpp"

using namespace wb::worker;

namespace {

/// The errno that `call` (-1: failed) leaves in a filtered child, 0 for success, -1 for its death.
int errno_under(const SystemCallPolicy& policy, const std::function<long()>& call) {
  auto filter = make_system_call_filter(policy);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!apply_system_call_filter(filter)) ::_exit(255);
    errno = 0;
    ::_exit(call() == -1 ? errno : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

long open_socket(int family) {
  return ::socket(family, SOCK_DGRAM, 0);
}

long fork_once() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  return pid;
}

}  // namespace

TEST_CASE("subjects cannot open sockets or start processes", "[worker][seccomp]") {
  if (!has_seccomp()) {
    WARN("skipped: no system call filters here");
    return;
  }
  const SystemCallPolicy native, python{.processes = true};
  for (const int family : {AF_INET, AF_INET6, AF_NETLINK}) {
    CHECK(errno_under(native, [&] { return open_socket(family); }) == EPERM);
    CHECK(errno_under(python, [&] { return open_socket(family); }) == EPERM);
  }
  CHECK(errno_under(native, [] { return open_socket(AF_UNIX); }) == EPERM);
  CHECK(errno_under(python, [] { return open_socket(AF_UNIX); }) == EPERM);
  CHECK(errno_under(k_gpu_system_calls, [] { return open_socket(AF_UNIX); }) == 0);
  CHECK(errno_under(native, fork_once) == EPERM);
  CHECK(errno_under(python, fork_once) == 0);
}

TEST_CASE("threads start, and ordinary calls work, under the filter", "[worker][seccomp]") {
  if (!has_seccomp()) {
    WARN("skipped: no system call filters here");
    return;
  }
  const auto start_thread = [] {
    int seen = 0;
    std::thread([&seen] { seen = 1; }).join();
    return seen == 1 ? 0L : -1L;
  };
  CHECK(errno_under({}, start_thread) == 0);
  CHECK(errno_under({.processes = true}, start_thread) == 0);
  int ends[2];
  CHECK(errno_under({}, [&] { return ::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends); }) == 0);
}

TEST_CASE("others cannot be limited, scheduled or signaled, own threads can", "[worker][seccomp]") {
  if (!has_seccomp()) {
    WARN("skipped: no system call filters here");
    return;
  }
  const SystemCallPolicy native, python{.processes = true}, apart{.own_ids = true};
  const pid_t other = ::getpid();  // of the child that tries, the parent
  cpu_set_t cpus;
  REQUIRE(::sched_getaffinity(0, sizeof cpus, &cpus) == 0);
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  for (const SystemCallPolicy& policy : {native, python}) {
    CHECK(errno_under(policy, [&] { return ::sched_setaffinity(other, sizeof cpus, &cpus); }) ==
          EPERM);
    CHECK(errno_under(policy, [&] { return ::setpriority(PRIO_PROCESS, other, 0); }) == EPERM);
    CHECK(errno_under(policy, [&] { return ::prlimit(other, RLIMIT_NOFILE, &files, nullptr); }) ==
          EPERM);
    CHECK(errno_under(policy, [&] { return ::kill(other, 0); }) == EPERM);
    CHECK(errno_under(policy, [] { return ::kill(-1, 0); }) == EPERM);
    CHECK(errno_under(policy, [] { return ::setpriority(PRIO_USER, 0, 0); }) == EPERM);
    CHECK(errno_under(policy, [] {
            const rlimit soon{1, 1};
            return ::setrlimit(RLIMIT_CPU, &soon);
          }) == EPERM);
    // Its own.
    CHECK(errno_under(policy, [&] { return ::sched_setaffinity(0, sizeof cpus, &cpus); }) == 0);
    CHECK(errno_under(policy, [&] {
            return ::pthread_setaffinity_np(::pthread_self(), sizeof cpus, &cpus) == 0 ? 0 : -1;
          }) == 0);
    CHECK(errno_under(policy, [&] { return ::setrlimit(RLIMIT_NOFILE, &files); }) == 0);
    CHECK(errno_under(policy, [&] { return ::getrlimit(RLIMIT_CPU, &files); }) == 0);
    CHECK(errno_under(policy, [] { return ::kill(::getpid(), 0); }) == 0);
  }
  CHECK(errno_under(native, [] { return ::kill(::getpid(), SIGKILL); }) == EPERM);
  CHECK(errno_under(native, [] { return ::raise(SIGTERM) == 0 ? 0 : -1; }) == EPERM);
  CHECK(errno_under(native, [] { return ::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0); }) == EPERM);
  // In a pid namespace an id is its own.
  CHECK(errno_under(apart, [&] { return ::sched_setaffinity(other, sizeof cpus, &cpus); }) == 0);
  CHECK(errno_under(k_gpu_system_calls,
                    [&] { return ::sched_setaffinity(1, sizeof cpus, &cpus); }) == 0);  // ignored
}

TEST_CASE("rights of files, locks and objects that outlive it are refused", "[worker][seccomp]") {
  if (!has_seccomp()) {
    WARN("skipped: no system call filters here");
    return;
  }
  const wb::TempDirectory folder = *wb::TempDirectory::create("wb-seccomp-test-");
  const std::string path = (folder.path() / "file").string();
  const wb::UniqueFd file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  REQUIRE(file.valid());
  const int fd = file.get();
  const SystemCallPolicy native,
      python{.processes = true, .locks = SystemCallPolicy::Answer::absent};
  struct flock range {};
  range.l_type = F_WRLCK;
  for (const SystemCallPolicy& policy : {native, python}) {
    CHECK(errno_under(policy, [&] { return ::chmod(path.c_str(), 0700); }) == EPERM);
    CHECK(errno_under(policy, [&] { return ::fchmod(fd, 0700); }) == EPERM);
    CHECK(errno_under(policy, [&] {
            return ::syscall(452 /* fchmodat2 */, AT_FDCWD, path.c_str(), 0700, 0);
          }) == EPERM);
    CHECK(errno_under(policy, [&] { return ::fchown(fd, ::getuid(), ::getgid()); }) == EPERM);
    CHECK(errno_under(policy, [&] { return ::futimens(fd, nullptr); }) == EPERM);
    CHECK(errno_under(policy, [&] { return ::fsetxattr(fd, "user.a", "b", 1, 0); }) == EPERM);
    CHECK(errno_under(policy, [&] { return ::syscall(463 /* setxattrat */); }) == ENOSYS);
    const int refused = policy.processes ? ENOSYS : EPERM;
    CHECK(errno_under(policy, [&] { return ::flock(fd, LOCK_EX | LOCK_NB); }) == refused);
    CHECK(errno_under(policy, [&] { return ::fcntl(fd, F_SETLK, &range); }) == refused);
    CHECK(errno_under(policy, [&] { return ::fcntl(fd, F_OFD_SETLK, &range); }) == refused);
    CHECK(errno_under(policy, [&] { return ::fcntl(fd, F_SETLEASE, F_RDLCK); }) == EPERM);
    CHECK(errno_under(policy, [&] { return ::fcntl(fd, F_SETOWN, ::getppid()); }) == EPERM);
    CHECK(errno_under(policy, [&] { return ::fcntl(fd, F_GETFD); }) == 0);
    CHECK(errno_under(policy, [] { return ::shmget(IPC_PRIVATE, 4'096, 0600); }) == EPERM);
    CHECK(errno_under(policy, [] { return ::semget(IPC_PRIVATE, 1, 0600); }) == EPERM);
    CHECK(errno_under(policy, [] { return ::msgget(IPC_PRIVATE, 0600); }) == EPERM);
    CHECK(errno_under(policy, [] { return ::inotify_init1(0); }) == EPERM);
    int ends[2];
    CHECK(errno_under(policy, [&] { return ::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends); }) == EPERM);
  }
  // Where nothing outside its folder can be written to.
  CHECK(errno_under({.processes = true, .change_files = true},
                    [&] { return ::chmod(path.c_str(), 0600); }) == 0);
}

TEST_CASE("each level is made of what stands before it", "[worker][isolation]") {
  for (const auto level : {Isolation::rlimits, Isolation::landlock, Isolation::seccomp}) {
    CHECK(reachable_isolation(level, false) == level);
    CHECK(parse_isolation(to_string(level)) == level);
    const std::string text = isolation_text(level);
    CHECK(text.starts_with("rlimits+no_new_privs"));
    CHECK((text.find("landlock") != std::string::npos) ==
          (level >= Isolation::landlock && landlock_version() > 0));
    CHECK((text.find("seccomp") != std::string::npos) ==
          (level >= Isolation::seccomp && has_seccomp()));
    CHECK(text.find("namespaces") == std::string::npos);
  }
  CHECK(reachable_isolation(Isolation::namespaces, true) == Isolation::seccomp);
  CHECK_FALSE(parse_isolation("none").has_value());
}

TEST_CASE("the filter is there where the kernel has one", "[worker][seccomp]") {
  CHECK(make_system_call_filter({}).empty() != has_seccomp());
}
