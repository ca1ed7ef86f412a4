// SPDX-License-Identifier: MIT
#include "core/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace wb::detail {
namespace {

/// The step at which a start failed, as the child reports it.
enum class Stage : int { group, descriptors, limits, folder, exec };

struct StageReport {
  Stage stage;
  int error_number;
};

constexpr std::size_t k_sigset_bytes = 8;  // the kernel's, not libc's

struct Limit {
  int resource;  // an int, because glibc's own enum exists only in C++ without strict mode
  rlimit value;
};

/// Everything that the child needs, prepared before the fork: until exec it shares our memory and
/// may only make system calls, since another thread may hold the allocator's lock.
struct Prepared {
  fs::path program;
  std::vector<std::string> env_words;
  std::vector<char*> argv, envp;
  std::vector<Limit> limits;
  std::vector<int> keep_fds;  // sorted, 3 or above, without duplicates
  std::string folder;
  int in = -1, out = -1, err = -1, report = -1;
  int close_up_to = 0;
  bool new_session = false;
  bool die_with_parent = false;
  pid_t parent = -1;
};

[[noreturn]] void report_and_exit(const Prepared& child, Stage stage) {
  const StageReport report{stage, errno};
  // The pipe is empty and the report smaller than PIPE_BUF: it is written whole or not at all.
  [[maybe_unused]] const ssize_t written = ::write(child.report, &report, sizeof report);
  ::_exit(127);
}

void close_between(int first, int last, int close_up_to) {
  if (first > last) return;
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), static_cast<unsigned>(last), 0) == 0)
    return;
  for (int fd = first; fd <= std::min(last, close_up_to); ++fd) ::close(fd);
}

void arrange_descriptors(const Prepared& child) {
  if (::dup2(child.in, 0) < 0 || ::dup2(child.out, 1) < 0 || ::dup2(child.err, 2) < 0) {
    report_and_exit(child, Stage::descriptors);
  }
  int next = 3;
  for (const int fd : child.keep_fds) {
    close_between(next, fd - 1, child.close_up_to);
    // The list may contain the report pipe, which must stay close-on-exec.
    if (fd != child.report && ::fcntl(fd, F_SETFD, 0) == -1) {
      report_and_exit(child, Stage::descriptors);
    }
    next = fd + 1;
  }
  close_between(next, INT_MAX, child.close_up_to);
}

/// Never inlined: its stack frame must be separate from the caller of vfork.
[[noreturn, gnu::noinline]] void run_child(const Prepared& child) {
  if (child.new_session ? ::setsid() == -1 : ::setpgid(0, 0) == -1) {
    report_and_exit(child, Stage::group);
  }
  if (child.die_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != child.parent) ::_exit(127);  // it died before the line above
  }
  arrange_descriptors(child);
  for (const Limit& limit : child.limits) {
    if (::setrlimit(static_cast<__rlimit_resource>(limit.resource), &limit.value) != 0) {
      report_and_exit(child, Stage::limits);
    }
  }
  if (!child.folder.empty() && ::chdir(child.folder.c_str()) != 0) {
    report_and_exit(child, Stage::folder);
  }
  // Reset all signals, since ignored ones stay ignored across exec (Python ignores SIGPIPE).
  constexpr std::array<unsigned long, 8> by_default{};  // the kernel's struct, all zero: SIG_DFL
  for (int number = 1; number < NSIG; ++number) {
    ::syscall(SYS_rt_sigaction, number, by_default.data(), nullptr, k_sigset_bytes);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(child.program.c_str(), child.argv.data(), child.envp.data());
  report_and_exit(child, Stage::exec);
}

std::string command_words(const ProcessSpec& spec) {
  std::string words;
  for (const std::string& word : spec.argv) words += (words.empty() ? "" : " ") + word;
  return printable(words, 200);
}

Error start_error(const ProcessSpec& spec, ErrorCode code, std::string cause, std::string next) {
  return Error{code, "start", command_words(spec), std::move(cause), std::move(next)};
}

bool holds_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

void add_limit(std::vector<Limit>& limits, int resource, std::optional<std::uint64_t> value,
               std::uint64_t hard_extra = 0) {
  if (!value) return;
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &now);
  // A stricter existing hard limit stays: only root could raise it.
  const rlim_t soft = std::min<rlim_t>(*value, now.rlim_max);
  const rlim_t hard = std::min<rlim_t>(*value + hard_extra, now.rlim_max);
  limits.push_back({resource, {soft, hard}});
}

std::vector<Limit> limits_of(const ResourceLimits& wanted) {
  std::vector<Limit> limits;
  add_limit(limits, RLIMIT_AS, wanted.address_space_bytes);
  add_limit(limits, RLIMIT_FSIZE, wanted.file_size_bytes);
  // SIGXCPU at the soft limit can be caught; one second later SIGKILL cannot.
  add_limit(limits, RLIMIT_CPU, wanted.cpu_s, 1);
  add_limit(limits, RLIMIT_NOFILE, wanted.open_files);
  if (wanted.no_core_dump) add_limit(limits, RLIMIT_CORE, 0);
  return limits;
}

std::vector<std::string> environment_words(const ProcessSpec& spec) {
  std::vector<std::string> words;
  for (char** entry = spec.clear_env ? nullptr : environ; entry != nullptr && *entry != nullptr;
       ++entry) {
    const std::string_view word = *entry;
    if (!spec.env.contains(std::string(word.substr(0, word.find('='))))) words.emplace_back(word);
  }
  for (const auto& [name, value] : spec.env) words.push_back(name + "=" + value);
  return words;
}

Result<void> check_spec(const ProcessSpec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty()) {
    return start_error(spec, ErrorCode::usage, "no program was named", "");
  }
  bool has_nul = std::any_of(spec.argv.begin(), spec.argv.end(), holds_nul) ||
                 holds_nul(spec.working_directory.native());
  for (const auto& [name, value] : spec.env) has_nul |= holds_nul(name) || holds_nul(value);
  if (has_nul) {
    return start_error(spec, ErrorCode::invalid, "an argument holds a NUL byte", "remove it");
  }
  for (const int fd : spec.keep_fds) {
    if (fd < 3 || ::fcntl(fd, F_GETFD) == -1) {
      return start_error(spec, ErrorCode::invalid,
                         fmt::format("descriptor {} cannot be inherited", fd),
                         "name open descriptors from 3 on");
    }
  }
  return {};
}

/// When SIGCHLD is ignored, the system discards a child's exit status. Our programs never ignore it
/// (put_inherited_in_order); a Python program may.
Result<void> check_child_signal(const ProcessSpec& spec) {
  struct sigaction now {};
  ::sigaction(SIGCHLD, nullptr, &now);
  if (now.sa_handler != SIG_IGN && (now.sa_flags & SA_NOCLDWAIT) == 0) return {};
  return start_error(
      spec, ErrorCode::environment,
      "this process ignores SIGCHLD, so that the end of no child can be known",
      "give it its default: signal.signal(signal.SIGCHLD, signal.SIG_DFL) in Python");
}

Result<Prepared> prepare(const ProcessSpec& spec) {
  WB_TRY(check_spec(spec));
  WB_TRY(check_child_signal(spec));
  Prepared child;
  WB_TRY_ASSIGN(child.program, find_program(spec.argv[0]));
  child.env_words = environment_words(spec);
  for (std::string& word : child.env_words) child.envp.push_back(word.data());
  child.envp.push_back(nullptr);
  // execve wants char*, and promises not to write through it.
  for (const std::string& word : spec.argv) child.argv.push_back(const_cast<char*>(word.data()));
  child.argv.push_back(nullptr);
  child.limits = limits_of(spec.limits);
  child.keep_fds = spec.keep_fds;
  child.folder = spec.working_directory.string();
  child.new_session = spec.new_session;
  child.die_with_parent = spec.die_with_parent;
  child.parent = ::getpid();
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  child.close_up_to = static_cast<int>(std::min<rlim_t>(files.rlim_cur, 1u << 16));
  return child;
}

Error stage_error(const ProcessSpec& spec, const StageReport& report) {
  const fs::path program = spec.argv[0];
  switch (report.stage) {
    case Stage::folder: {
      Error error = errno_error("enter the folder", spec.working_directory, report.error_number);
      if (error.code == ErrorCode::read_only) error.code = ErrorCode::io;
      return error;
    }
    case Stage::exec:
      if (report.error_number == ENOENT) {
        return start_error(spec, ErrorCode::not_found,
                           "the program, or the interpreter that its first line names, is missing",
                           "install it");
      }
      break;
    case Stage::group:
    case Stage::descriptors:
    case Stage::limits:
      break;
  }
  Error error = errno_error("start", program, report.error_number);
  error.code = ErrorCode::io;
  return error;
}

/// Waits for the child's exec; an empty pipe means success.
std::optional<StageReport> read_report(int fd) {
  StageReport report{};
  ssize_t got = 0;
  do {
    got = ::read(fd, &report, sizeof report);
  } while (got == -1 && errno == EINTR);
  if (got == sizeof report) return report;
  return std::nullopt;
}

/// Blocks all signals, so that no handler runs in the child before exec. Uses vfork because fork
/// copies the page tables: 5 ms more in a process of 200 MB.
pid_t fork_quietly(const Prepared& child) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (pid == 0) run_child(child);
  const int error_number = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error_number;
  return pid;
}

}  // namespace

Result<Child> spawn_child(const ProcessSpec& spec, int in, int out, int err) {
  WB_TRY_ASSIGN(Prepared prepared, prepare(spec));
  WB_TRY_ASSIGN(Pipe report_pipe, make_pipe());
  prepared.in = in;
  prepared.out = out;
  prepared.err = err;
  prepared.report = report_pipe.write_end.get();
  auto& keep = prepared.keep_fds;
  keep.push_back(prepared.report);
  std::sort(keep.begin(), keep.end());
  keep.erase(std::unique(keep.begin(), keep.end()), keep.end());

  const pid_t pid = fork_quietly(prepared);
  if (pid == -1) {
    return process_refused("start", command_words(spec), errno);
  }
  report_pipe.write_end.reset();
  if (const auto report = read_report(report_pipe.read_end.get())) {
    ::waitpid(pid, nullptr, 0);
    return stage_error(spec, *report);
  }
  Child child;
  child.pid = pid;
  child.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return child;
}

bool has_ended(const Child& child) {
  siginfo_t facts{};
  const int options = WEXITED | WNOHANG | WNOWAIT;
  // ECHILD: it was reaped by others (SIGCHLD ignored), so it has ended.
  if (::waitid(P_PID, static_cast<id_t>(child.pid), &facts, options) == -1) return errno == ECHILD;
  return facts.si_pid == child.pid;
}

bool wait_until_ended(const Child& child, Deadline deadline) {
  while (!has_ended(child)) {
    const int left_ms = poll_timeout_ms(deadline);
    if (left_ms == 0) return false;
    if (child.pidfd.valid()) {
      pollfd ended{child.pidfd.get(), POLLIN, 0};
      ::poll(&ended, 1, left_ms);
    } else {
      ::poll(nullptr, 0, std::min(left_ms, 5));
    }
  }
  return true;
}

ProcessOutcome kill_and_reap(const Child& child) {
  ProcessOutcome outcome;
  ::kill(-child.pid, SIGKILL);  // ESRCH or EPERM: nothing left to end
  if (!wait_until_ended(child, deadline_after(k_reap_patience))) return outcome;
  int status = 0;
  rusage usage{};
  const pid_t reaped = ::wait4(child.pid, &status, WNOHANG, &usage);
  outcome.reaped_by_others = reaped == -1 && errno == ECHILD;
  if (reaped != child.pid) return outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  outcome.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  outcome.max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return outcome;
}

}  // namespace wb::detail
