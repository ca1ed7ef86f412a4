// SPDX-License-Identifier: MIT
#include "variant/cache_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace wb::variant {
namespace {

constexpr int k_lock_attempts = 100;
constexpr auto k_lock_pause = std::chrono::milliseconds(5);
/// Uses within this time are marked once, so that a hit costs no write.
constexpr time_t k_mark_every_s = 60;

void mark_used(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return;
  if (status.st_mtim.tv_sec + k_mark_every_s > ::time(nullptr)) return;
  ::futimens(fd, nullptr);  // fails for another user's cache: then its age is that of the build
}

}  // namespace

Result<UniqueFd> lock_cache(const fs::path& root) {
  const fs::path path = root / k_cache_lock_file;
  UniqueFd lock(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  int locked = -1;
  if (lock.valid()) {
    do {
      locked = ::flock(lock.get(), LOCK_EX);
    } while (locked != 0 && errno == EINTR);
  }
  if (locked != 0) return errno_error("lock the artifact cache", path, errno);
  return lock;
}

void lock_pause() {
  std::this_thread::sleep_for(k_lock_pause);
}

UniqueFd hold_entry(const fs::path& folder, const std::function<void()>& pause) {
  // An exclusive lock is held for one rename only.
  for (int attempt = 0; attempt < k_lock_attempts; ++attempt) {
    UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return fd;
    if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) {
      if (!is_held(fd, folder)) continue;  // removed by that rename: look again
      mark_used(fd.get());
      return fd;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    pause();
  }
  return {};
}

bool is_held(const UniqueFd& held, const fs::path& folder) {
  struct stat ours {};
  struct stat named {};
  return held.valid() && ::fstat(held.get(), &ours) == 0 && ::stat(folder.c_str(), &named) == 0 &&
         ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

}  // namespace wb::variant
