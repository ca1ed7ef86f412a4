// SPDX-License-Identifier: MIT
#include "core/inherited.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "core/files.hpp"
#include "core/process.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"

using wb::ErrorCode;
using wb::testing::in_child;
namespace fs = std::filesystem;

namespace {

/// In a child of the tests: the first three descriptors are closed, as a daemon may have them.
void close_stdio() {
  for (const int fd : {0, 1, 2}) ::close(fd);
}

bool is_blocked(int number) {
  sigset_t now;
  ::sigprocmask(SIG_SETMASK, nullptr, &now);
  return ::sigismember(&now, number) == 1;
}

bool is_ignored(int number) {
  struct sigaction now {};
  ::sigaction(number, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

int names_it(const wb::Result<void>& result, ErrorCode code, const std::string& word) {
  if (result.ok()) return 11;
  if (result.error().code != code) return 12;
  return result.error().message().find(word) == std::string::npos ? 13 : 0;
}

}  // namespace

TEST_CASE("closed standard descriptors are opened, and writing to them still fails", "[core]") {
  CHECK(in_child([] {
          close_stdio();
          wb::fill_standard_descriptors();
          for (const int fd : {0, 1, 2}) {
            if (::fcntl(fd, F_GETFD) == -1) return 1;
          }
          char byte = 0;
          if (::read(0, &byte, 1) != 0) return 2;
          if (::write(1, "x", 1) != -1 || errno != EBADF) return 3;
          return ::write(2, "x", 1) == 1 ? 0 : 4;
        }) == 0);
}

TEST_CASE("what is open stays as it is", "[core]") {
  std::array<int, 2> ends{-1, -1};
  REQUIRE(::pipe(ends.data()) == 0);
  CHECK(in_child([&ends] {
          ::dup2(ends[1], 1);
          ::close(2);
          wb::fill_standard_descriptors();
          return ::write(1, "kept", 4) == 4 ? 0 : 1;
        }) == 0);
  std::array<char, 8> got{};
  CHECK(::read(ends[0], got.data(), got.size()) == 4);
  for (const int end : ends) ::close(end);
}

TEST_CASE("no file of ours gets the number of a standard stream", "[core][files]") {
  const auto folder = wb::TempDirectory::create("wb-inherited-");
  REQUIRE(folder.ok());
  const fs::path path = folder->path() / "log";
  CHECK(in_child([&path] {
          close_stdio();
          wb::RealFileSystem files;
          const auto log = files.open_append(path);
          if (!log.ok() || !(*log)->append_synced("ours\n").ok()) return 1;
          // Whatever prints now must find none of the three.
          for (const int fd : {0, 1, 2}) {
            if (::write(fd, "foreign\n", 8) != -1) return 2;
          }
          return 0;
        }) == 0);
  CHECK(*wb::RealFileSystem().read(path, 100) == "ours\n");
}

TEST_CASE("signals and umask are put in order, what was ignored stays so", "[core]") {
  CHECK(in_child([] {
          sigset_t all;
          ::sigfillset(&all);
          ::sigprocmask(SIG_SETMASK, &all, nullptr);
          for (const int number : {SIGCHLD, SIGHUP, SIGUSR1}) ::signal(number, SIG_IGN);
          for (const int number : {SIGTERM, SIGINT}) ::signal(number, SIG_DFL);
          ::umask(0727);
          wb::put_inherited_in_order();
          if (::umask(0) != 0027) return 1;
          for (int number = 1; number < NSIG; ++number) {
            if (is_blocked(number)) return 2;
          }
          if (is_ignored(SIGCHLD)) return 3;
          if (!is_ignored(SIGHUP) || !is_ignored(SIGUSR1)) return 4;
          if (!is_ignored(SIGPIPE) || !is_ignored(SIGXFSZ)) return 5;
          const sigset_t stops = wb::stop_signals();
          if (::sigismember(&stops, SIGHUP) != 0) return 6;
          return ::sigismember(&stops, SIGTERM) + ::sigismember(&stops, SIGINT) == 2 ? 0 : 7;
        }) == 0);
}

TEST_CASE("soft limits that are too low are raised as far as may be", "[core]") {
  CHECK(in_child([] {
          rlimit files{};
          ::getrlimit(RLIMIT_NOFILE, &files);
          files.rlim_cur = 20;
          files.rlim_max = std::min<rlim_t>(files.rlim_max, 200);
          if (::setrlimit(RLIMIT_NOFILE, &files) != 0) return 1;
          wb::put_inherited_in_order();
          rlimit now{};
          ::getrlimit(RLIMIT_NOFILE, &now);
          return now.rlim_cur == files.rlim_max ? 0 : 2;
        }) == 0);
}

TEST_CASE("a file beyond the limit of its size is an error and ends nobody", "[core][files]") {
  const auto folder = wb::TempDirectory::create("wb-inherited-");
  REQUIRE(folder.ok());
  const fs::path path = folder->path() / "large";
  CHECK(in_child([&path] {
          const rlimit limit{4'096, 4'096};
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
          wb::put_inherited_in_order();
          const std::string bytes(10'000, 'x');
          return names_it(wb::RealFileSystem().write_atomic(path, bytes, wb::Durability::none),
                          ErrorCode::io, "ulimit -f");
        }) == 0);
  CHECK(fs::is_empty(folder->path()));
}

TEST_CASE("a working folder that was removed is named", "[core]") {
  const auto folder = wb::TempDirectory::create("wb-inherited-");
  REQUIRE(folder.ok());
  REQUIRE(wb::check_working_folder().ok());
  const fs::path gone = folder->path() / "gone";
  CHECK(in_child([&gone] {
          if (::mkdir(gone.c_str(), 0755) != 0 || ::chdir(gone.c_str()) != 0) return 1;
          if (::rmdir(gone.c_str()) != 0) return 2;
          return names_it(wb::check_working_folder(), ErrorCode::not_found, "current folder");
        }) == 0);
}

TEST_CASE("in a program of others an umask that takes the owner's rights is named", "[core]") {
  CHECK(in_child([] {
          ::umask(0277);
          const int named = names_it(wb::check_inherited(), ErrorCode::environment, "umask 0277");
          ::umask(0077);
          return named != 0 ? named : (wb::check_inherited().ok() ? 0 : 1);
        }) == 0);
}

TEST_CASE("a process that ignores SIGCHLD is told so instead of blaming its child", "[core]") {
  CHECK(in_child([] {
          ::signal(SIGCHLD, SIG_IGN);
          const auto outcome = wb::run_process({.argv = {"true"}});
          if (outcome.ok() || outcome.error().code != ErrorCode::environment) return 1;
          return outcome.error().message().find("SIGCHLD") == std::string::npos ? 2 : 0;
        }) == 0);
}

TEST_CASE("a handler that reaps every child is told so", "[core]") {
  CHECK(in_child([] {
          ::signal(SIGCHLD, [](int) {
            while (::waitpid(-1, nullptr, WNOHANG) > 0) {
            }
          });
          const auto outcome = wb::run_process({.argv = {"true"}});
          if (outcome.ok() || outcome.error().code != ErrorCode::environment) return 1;
          return outcome.error().message().find("SIGCHLD") == std::string::npos ? 2 : 0;
        }) == 0);
}

TEST_CASE("limits and priorities that measuring suffers from are named with a cure", "[core]") {
  CHECK(in_child([] {
          errno = 0;
          if (::nice(3) == -1 && errno != 0) return 1;
          const rlimit limit{3'600, 3'600};
          if (::setrlimit(RLIMIT_CPU, &limit) != 0) return 2;
          std::string all;
          for (const wb::Hindrance& one : wb::inherited_hindrances()) {
            all += one.what + " -> " + one.cure + "\n";
          }
          if (all.find("niceness") == std::string::npos) return 3;
          return all.find("3600 seconds of CPU time") == std::string::npos ? 4 : 0;
        }) == 0);
}
