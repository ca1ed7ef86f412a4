// SPDX-License-Identifier: MIT
#include "worker/namespaces.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "core/process.hpp"

namespace wb::worker {
namespace {

constexpr int k_apart = CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS;

// Part of the kernel's ABI since 5.12; Debian 12's headers lack some of it.
constexpr long k_call_mount_setattr = 442;
constexpr std::uint64_t k_mount_read_only = 1, k_mount_no_suid = 2;
constexpr unsigned k_mount_recursive = 0x8000;
struct MountAttributes {
  std::uint64_t set = 0, clear = 0, propagation = 0, user_namespace = 0;
};

bool change_mounts(const char* path, unsigned flags, MountAttributes attributes) {
  return ::syscall(k_call_mount_setattr, AT_FDCWD, path, flags, &attributes, sizeof attributes) ==
         0;
}

/// The launching process's report before it ends.
struct LaunchReport {
  pid_t init = -1, leader = -1;
  int error_number = 0;
  std::array<char, 24> step{};
};

bool write_file(const char* path, std::string_view text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  return written;
}

/// Each id maps to itself, so that files keep their owner.
struct IdMaps {
  std::string uid = fmt::format("{0} {0} 1\n", ::geteuid());
  std::string gid = fmt::format("{0} {0} 1\n", ::getegid());
};

/// Root needs no user namespace for the others, and in one it could not read other users' files,
/// such as an interpreter below a user's home.
const char* leave_namespaces(const IdMaps& maps) {
  if (::geteuid() == 0 && ::unshare(k_apart) == 0) return nullptr;
  if (::unshare(k_apart | CLONE_NEWUSER) != 0) return "unshare";
  if (!write_file("/proc/self/setgroups", "deny")) return "setgroups";
  if (!write_file("/proc/self/uid_map", maps.uid)) return "uid_map";
  if (!write_file("/proc/self/gid_map", maps.gid)) return "gid_map";
  return nullptr;
}

/// Process 1 of the namespaces. No signal from inside ends it. It ends when `life` closes, which
/// means that the supervisor is gone, and the kernel ends all other processes with it.
[[noreturn]] void be_init(int life) {
  ::setsid();
  // Hides the supervisor's memory at the fork.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::signal(SIGCHLD, SIG_IGN);  // the kernel reaps orphans
  ::dup2(life, 0);
  if (::syscall(SYS_close_range, 1, UINT_MAX, 0) != 0) {
    for (int fd = 1; fd < 4'096; ++fd) ::close(fd);
  }
  if (::chdir("/") != 0) ::_exit(1);
  char byte = 0;
  while (::read(0, &byte, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

/// An intermediate process: its children are born into the namespaces that it made, one of them as
/// a child of its own parent.
[[noreturn]] void launch(const IdMaps& maps, int life, int report_to,
                         const std::function<void()>& body) {
  LaunchReport report;
  const auto give_up = [&](const char* step) {
    report.error_number = errno;
    std::strncpy(report.step.data(), step, report.step.size() - 1);
    [[maybe_unused]] const ssize_t written = ::write(report_to, &report, sizeof report);
    if (report.init > 0) ::kill(report.init, SIGKILL);
    ::_exit(1);
  };
  if (const char* failed = leave_namespaces(maps)) give_up(failed);
  report.init = ::fork();
  if (report.init == 0) be_init(life);
  if (report.init < 0) give_up("fork");
  report.leader = static_cast<pid_t>(
      ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (report.leader == 0) {
    body();
    ::_exit(127);
  }
  if (report.leader < 0) give_up("clone");
  const bool told = ::write(report_to, &report, sizeof report) == sizeof report;
  ::_exit(told ? 0 : 1);
}

LaunchReport read_launch_report(int from) {
  LaunchReport report;
  ssize_t got = 0;
  do {
    got = ::read(from, &report, sizeof report);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof report)) report = LaunchReport{};
  return report;
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Error not_launched(const LaunchReport& report) {
  Error error = process_refused("start a process in", "namespaces of its own", report.error_number);
  error.cause =
      fmt::format("{}: {}", *report.step.data() != '\0' ? report.step.data() : "fork", error.cause);
  return error;
}

}  // namespace

Result<Namespaced> fork_in_namespaces(const std::function<void()>& body) {
  std::array<int, 2> life_ends{-1, -1}, report_ends{-1, -1};
  if (::pipe2(life_ends.data(), O_CLOEXEC) != 0) return errno_error("make", "a pipe", errno);
  const UniqueFd life_read(life_ends[0]);
  UniqueFd life(life_ends[1]);
  if (::pipe2(report_ends.data(), O_CLOEXEC) != 0) return errno_error("make", "a pipe", errno);
  const UniqueFd report_read(report_ends[0]);
  UniqueFd report_write(report_ends[1]);
  const IdMaps maps;
  const pid_t launcher = ::fork();
  if (launcher == 0) launch(maps, life_read.get(), report_write.get(), body);
  if (launcher < 0) {
    return process_refused("start a process in", "namespaces of its own", errno);
  }
  report_write.reset();
  const LaunchReport report = read_launch_report(report_read.get());
  reap(launcher);  // the init becomes a child of this process
  if (report.leader > 0) return Namespaced{report.init, report.leader, std::move(life)};
  if (report.init > 0) reap(report.init);
  return not_launched(report);
}

const char* arrange_mounts(const NamespaceSpec& spec) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "private mounts";
  const char* folder = spec.writable_folder.c_str();
  if (*folder != '\0' && ::mount(folder, folder, nullptr, MS_BIND, nullptr) != 0) {
    return "bind its folder";
  }
  for (const std::string& file : spec.hidden_files) {
    if (::access(file.c_str(), F_OK) != 0) continue;
    if (::mount("/dev/null", file.c_str(), nullptr, MS_BIND, nullptr) != 0) return "hide a file";
  }
  // Shows only its own processes. The kernel refuses this where a container masks parts of /proc;
  // then the old /proc stays, which shows other processes, although no call can name them.
  (void)::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  if (!change_mounts("/", k_mount_recursive, {.set = k_mount_read_only | k_mount_no_suid})) {
    return "read-only mounts";
  }
  if (*folder != '\0' && !change_mounts(folder, 0, {.clear = k_mount_read_only})) {
    return "a writable folder";
  }
  return nullptr;
}

std::optional<std::string> namespaces_missing() {
  const auto scratch = TempDirectory::create("wb-namespaces");
  if (!scratch.ok()) return scratch.error().message();
  const NamespaceSpec spec{scratch->path().string(), {}};
  const std::string file = (scratch->path() / "probe").string();
  auto started = fork_in_namespaces([&] {
    if (arrange_mounts(spec) != nullptr || ::chdir("/") != 0) ::_exit(1);
    ::_exit(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0 ? 0 : 2);
  });
  if (!started.ok()) return started.error().message();
  int status = 0;
  while (::waitpid(started->leader, &status, 0) < 0 && errno == EINTR) {
  }
  ::kill(started->init, SIGKILL);
  reap(started->init);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  return "the mounts of a new namespace cannot be arranged here";
}

}  // namespace wb::worker
