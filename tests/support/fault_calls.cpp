// SPDX-License-Identifier: MIT
#include "support/fault_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace wb::testing {
namespace {

CallFault g_fault;
bool g_armed = false;     // this fault may strike
bool g_counting = false;  // g_fault.path_part means something
std::array<std::atomic<int>, k_system_calls> g_counts{};
std::atomic<int> g_failed{0};

std::size_t index_of(SystemCall call) {
  return static_cast<std::size_t>(call);
}

/// The path behind a descriptor, without allocating: we may stand inside malloc.
bool descriptor_matches(int fd) {
  std::array<char, 64> link{};
  std::array<char, 4096> path{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link.data(), path.data(), path.size() - 1);
  return length > 0 && std::strstr(path.data(), g_fault.path_part.c_str()) != nullptr;
}

bool path_matches(const char* path) {
  return path != nullptr && std::strstr(path, g_fault.path_part.c_str()) != nullptr;
}

/// Counts the call; true when the fault strikes it.
bool strikes(SystemCall call, bool matches) {
  if (!g_counting || !matches) return false;
  const int nth = ++g_counts[index_of(call)];
  const int nth_of_any = ++g_counts[index_of(SystemCall::any)];
  if (!g_armed) return false;
  if (g_fault.call != call && g_fault.call != SystemCall::any) return false;
  const int counted = g_fault.call == call ? nth : nth_of_any;
  return counted >= g_fault.nth && counted - g_fault.nth < g_fault.times;
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();
}

struct Nothing {
  void operator()() const {}
};

/// Does the real call, or what the fault makes of it; `torn` is the part that a torn one still
/// does.
template <typename Call, typename Torn = Nothing>
auto around(SystemCall call, bool matches, Call real, Torn torn = {}) -> decltype(real()) {
  if (!strikes(call, matches)) return real();
  if (g_fault.action == CallFault::Action::fail) {
    ++g_failed;
    errno = g_fault.error_number;
    if constexpr (std::is_pointer_v<decltype(real())>) {
      return MAP_FAILED;
    } else {
      return -1;
    }
  }
  if (g_fault.action == CallFault::Action::kill_after) real();
  if (g_fault.action == CallFault::Action::kill_torn) torn();
  die();
}

bool any_path() {
  return g_fault.path_part.empty();
}

}  // namespace

const char* to_string(SystemCall call) {
  constexpr std::array k_names{"open", "write",    "sync",   "rename", "link", "mkdir",
                               "mmap", "truncate", "unlink", "fork",   "pipe", "any"};
  return k_names[index_of(call)];
}

void arm_call_fault(const CallFault& fault) {
  g_armed = g_counting = false;
  g_fault = fault;
  for (auto& count : g_counts) count = 0;
  g_failed = 0;
  g_armed = g_counting = true;
}

void disarm_call_fault() {
  g_armed = false;
}

int counted_calls(SystemCall call) {
  return g_counts[index_of(call)];
}

int failed_calls() {
  return g_failed;
}

}  // namespace wb::testing

using namespace wb::testing;

// The real function of that name, behind us.
#define WB_REAL(name) \
  static const auto real = reinterpret_cast<decltype(&(name))>(dlsym(RTLD_NEXT, #name))
#define WB_DESCRIPTOR(fd) (any_path() || descriptor_matches(fd))
#define WB_PATH(path) (any_path() || path_matches(path))
#define WB_MODE(flags)                                              \
  mode_t mode = 0;                                                  \
  if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) { \
    va_list words;                                                  \
    va_start(words, flags);                                         \
    mode = va_arg(words, mode_t);                                   \
    va_end(words);                                                  \
  }

extern "C" {

int open(const char* path, int flags, ...) {
  WB_REAL(open);
  WB_MODE(flags);
  return around(SystemCall::open, WB_PATH(path), [&] { return real(path, flags, mode); });
}
int open64(const char* path, int flags, ...) {
  WB_REAL(open64);
  WB_MODE(flags);
  return around(SystemCall::open, WB_PATH(path), [&] { return real(path, flags, mode); });
}
int openat(int folder, const char* path, int flags, ...) {
  WB_REAL(openat);
  WB_MODE(flags);
  return around(SystemCall::open, WB_PATH(path), [&] { return real(folder, path, flags, mode); });
}
int openat64(int folder, const char* path, int flags, ...) {
  WB_REAL(openat64);
  WB_MODE(flags);
  return around(SystemCall::open, WB_PATH(path), [&] { return real(folder, path, flags, mode); });
}
// What a fortified build of a library calls instead.
int __open_2(const char* path, int flags) {
  return open(path, flags);
}
int __open64_2(const char* path, int flags) {
  return open64(path, flags);
}
int __openat_2(int folder, const char* path, int flags) {
  return openat(folder, path, flags);
}
int __openat64_2(int folder, const char* path, int flags) {
  return openat64(folder, path, flags);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  WB_REAL(write);
  return around(
      SystemCall::write, WB_DESCRIPTOR(fd), [&] { return real(fd, bytes, size); },
      [&] { real(fd, bytes, std::min(size, g_fault.torn_bytes)); });
}
int fsync(int fd) {
  WB_REAL(fsync);
  return around(SystemCall::sync, WB_DESCRIPTOR(fd), [&] { return real(fd); });
}
int fdatasync(int fd) {
  WB_REAL(fdatasync);
  return around(SystemCall::sync, WB_DESCRIPTOR(fd), [&] { return real(fd); });
}
int rename(const char* from, const char* to) noexcept {
  WB_REAL(rename);
  return around(SystemCall::rename, WB_PATH(to), [&] { return real(from, to); });
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  WB_REAL(renameat);
  return around(SystemCall::rename, WB_PATH(to),
                [&] { return real(from_folder, from, to_folder, to); });
}
int link(const char* from, const char* to) noexcept {
  WB_REAL(link);
  return around(SystemCall::link, WB_PATH(to), [&] { return real(from, to); });
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  WB_REAL(linkat);
  return around(SystemCall::link, WB_PATH(to),
                [&] { return real(from_folder, from, to_folder, to, flags); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  WB_REAL(mkdir);
  return around(SystemCall::mkdir, WB_PATH(path), [&] { return real(path, mode); });
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  WB_REAL(mkdirat);
  return around(SystemCall::mkdir, WB_PATH(path), [&] { return real(folder, path, mode); });
}
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  WB_REAL(mmap);
  return around(SystemCall::mmap, WB_DESCRIPTOR(fd),
                [&] { return real(at, size, protection, flags, fd, offset); });
}
void* mmap64(void* at, size_t size, int protection, int flags, int fd, off64_t offset) noexcept {
  WB_REAL(mmap64);
  return around(SystemCall::mmap, WB_DESCRIPTOR(fd),
                [&] { return real(at, size, protection, flags, fd, offset); });
}
int ftruncate(int fd, off_t length) noexcept {
  WB_REAL(ftruncate);
  return around(SystemCall::truncate, WB_DESCRIPTOR(fd), [&] { return real(fd, length); });
}
int ftruncate64(int fd, off64_t length) noexcept {
  WB_REAL(ftruncate64);
  return around(SystemCall::truncate, WB_DESCRIPTOR(fd), [&] { return real(fd, length); });
}
int unlink(const char* path) noexcept {
  WB_REAL(unlink);
  return around(SystemCall::unlink, WB_PATH(path), [&] { return real(path); });
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  WB_REAL(unlinkat);
  return around(SystemCall::unlink, WB_PATH(path), [&] { return real(folder, path, flags); });
}
int pipe(int ends[2]) noexcept {
  WB_REAL(pipe);
  return around(SystemCall::pipe, any_path(), [&] { return real(ends); });
}
int pipe2(int ends[2], int flags) noexcept {
  WB_REAL(pipe2);
  return around(SystemCall::pipe, any_path(), [&] { return real(ends, flags); });
}
pid_t fork() noexcept {
  WB_REAL(fork);
  return around(SystemCall::fork, any_path(), [&] { return real(); });
}
// A wrapper cannot return twice from vfork, whose child shares its stack; fork does what is asked.
pid_t vfork() noexcept {
  return fork();
}

}  // extern "C"
