// SPDX-License-Identifier: MIT
#include "worker/seccomp.hpp"

#include <linux/filter.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

#include "support/catch.hpp"
#include "worker/confine.hpp"

using namespace wb::worker;

namespace {

/// The errno that `call` (-1: failed) leaves in a filtered child, 0 for success, -1 for its death.
int errno_under(const SystemCallPolicy& policy, const std::function<long()>& call) {
  const auto filter = make_system_call_filter(policy);
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
  const SystemCallPolicy native, python{.processes = true, .unix_sockets = true};
  for (const int family : {AF_INET, AF_INET6, AF_NETLINK}) {
    CHECK(errno_under(native, [&] { return open_socket(family); }) == EPERM);
    CHECK(errno_under(python, [&] { return open_socket(family); }) == EPERM);
  }
  CHECK(errno_under(native, [] { return open_socket(AF_UNIX); }) == EPERM);
  CHECK(errno_under(python, [] { return open_socket(AF_UNIX); }) == 0);
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
  CHECK(errno_under({.processes = true, .unix_sockets = true}, start_thread) == 0);
  int ends[2];
  CHECK(errno_under({}, [&] { return ::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends); }) == 0);
}

TEST_CASE("the level reached names the filter", "[worker][seccomp]") {
  const bool named = isolation_level().find("seccomp") != std::string::npos;
  CHECK(named == has_seccomp());
  CHECK(make_system_call_filter({}).empty() != has_seccomp());
}
