// SPDX-License-Identifier: MIT
#include "core/inherited.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>

#include "core/files.hpp"

namespace wb {
namespace {

/// More than a session with its worker, compilers and repository ever opens.
constexpr rlim_t k_enough_open_files = 4'096;
/// The usual default; a new thread gets this much.
constexpr rlim_t k_enough_stack_bytes = 8u << 20;

void put_signals_in_order() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, nullptr);
  action.sa_handler = SIG_IGN;
  for (const int number : {SIGPIPE, SIGXFSZ}) ::sigaction(number, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void raise_soft_limit(__rlimit_resource resource, rlim_t enough) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur >= enough) return;
  limit.rlim_cur = std::min(limit.rlim_max, enough);
  // On failure, the operation that needs more reports the error.
  (void)::setrlimit(resource, &limit);
}

rlim_t soft_limit(__rlimit_resource resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/// Reading it with umask() would change it briefly for all threads.
std::optional<mode_t> umask_of_this_process() {
  const auto text = RealFileSystem().read("/proc/self/status", 64u << 10);
  constexpr std::string_view k_key = "\nUmask:\t";
  const std::size_t at = text.ok() ? text->find(k_key) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  mode_t mask = 0;
  const char* const begin = text->data() + at + k_key.size();
  const auto read = std::from_chars(begin, text->data() + text->size(), mask, 8);
  return read.ec == std::errc() ? std::optional(mask) : std::nullopt;
}

}  // namespace

void put_inherited_in_order() {
  fill_standard_descriptors();
  put_signals_in_order();
  const mode_t mask = ::umask(S_IRWXG | S_IRWXO);
  ::umask(mask & ~mode_t{S_IRWXU});
  raise_soft_limit(RLIMIT_NOFILE, k_enough_open_files);
  raise_soft_limit(RLIMIT_STACK, k_enough_stack_bytes);
}

void fill_standard_descriptors() {
  // Wrong direction for standard output on purpose, so that a write fails instead of vanishing.
  constexpr std::array<int, 3> k_directions{O_RDONLY, O_RDONLY, O_WRONLY};
  for (int fd = 0; fd < static_cast<int>(k_directions.size()); ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    int opened = ::open("/dev/null", k_directions.at(static_cast<std::size_t>(fd)));
    // If the device is missing, a folder holds the number instead.
    if (opened == -1) opened = ::open("/", O_RDONLY | O_DIRECTORY);
    // open() returns the lowest free number, unless another thread was faster.
    if (opened != fd && opened != -1) ::close(opened);
  }
}

sigset_t stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGTERM, SIGHUP, SIGINT}) {
    struct sigaction now {};
    const bool is_ignored = ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    if (!is_ignored) ::sigaddset(&set, number);
  }
  return set;
}

Result<void> check_working_folder() {
  std::error_code fault;
  (void)fs::current_path(fault);
  if (!fault) return {};
  if (fault.value() == ENOENT) {
    return Error{ErrorCode::not_found, "work in", "the current folder", "it was removed",
                 "change to a folder that is there"};
  }
  Error error = errno_error("work in", "the current folder", fault.value());
  error.next = "change to a folder that can be reached";
  return error;
}

Result<void> check_inherited() {
  WB_TRY(check_working_folder());
  const auto mask = umask_of_this_process();
  if (!mask || (*mask & S_IRWXU) == 0) return {};
  return Error{ErrorCode::environment, "write files with", fmt::format("the umask {:04o}", *mask),
               "it takes their owner's own rights from them",
               "set another in this program, such as 0022"};
}

std::vector<Hindrance> inherited_hindrances() {
  std::vector<Hindrance> found;
  const int niceness = ::getpriority(PRIO_PROCESS, 0);
  if (niceness > 0) {
    found.push_back({fmt::format("niceness {}: whatever else runs goes first", niceness),
                     "start it without nice"});
  }
  const int policy = ::sched_getscheduler(0);
  if (policy == SCHED_IDLE || policy == SCHED_BATCH) {
    found.push_back({policy == SCHED_IDLE ? "scheduled only while nothing else runs (SCHED_IDLE)"
                                          : "scheduled as batch work (SCHED_BATCH)",
                     "start it without chrt or CPUSchedulingPolicy"});
  }
  struct Kind {
    __rlimit_resource resource;
    rlim_t enough;
    const char* what;
    const char* flag;
  };
  constexpr rlim_t k_gib = 1u << 30;
  for (const Kind& kind : {Kind{RLIMIT_CPU, RLIM_INFINITY, "seconds of CPU time a process", "-t"},
                           Kind{RLIMIT_FSIZE, k_gib, "bytes a file", "-f"},
                           Kind{RLIMIT_AS, 16 * k_gib, "bytes of address space a process", "-v"},
                           Kind{RLIMIT_NOFILE, 256, "open files a process", "-n"},
                           Kind{RLIMIT_NPROC, 256, "processes and threads of this user", "-u"},
                           Kind{RLIMIT_STACK, 1u << 20, "bytes of stack a thread", "-s"}}) {
    const rlim_t limit = soft_limit(kind.resource);
    // The kernel does not apply this limit to root.
    const bool is_free = kind.resource == RLIMIT_NPROC && ::getuid() == 0;
    if (limit >= kind.enough || is_free) continue;
    found.push_back({fmt::format("at most {} {}", limit, kind.what),
                     fmt::format("raise the limit (ulimit {})", kind.flag)});
  }
  return found;
}

}  // namespace wb
