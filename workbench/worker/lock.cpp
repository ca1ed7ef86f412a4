// SPDX-License-Identifier: MIT
#include "worker/lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace wb::worker {
namespace {

constexpr int k_gpus_begin = 1 << 12, k_gpu_places = 1 << 16;  // after the CPUs
constexpr int k_poll_ms = 1;
constexpr mode_t k_lock_mode = 0222;  // writable for all users, readable for none

/// Open-file-description locks belong to the descriptor, so two workers never share one.
bool set_lock(int fd, short type, off_t begin, off_t length) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = begin;
  range.l_len = length;
  return ::fcntl(fd, F_OFD_SETLK, &range) == 0;
}

std::string name_of(int place) {
  return place < k_gpus_begin ? "CPU " + fmt::to_string(place) : std::string("the GPU");
}

bool canceled_within(CancelSource cancel, int wait_ms) {
  std::array<pollfd, 2> waits{{{cancel.wire_fd, POLLRDHUP, 0}, {cancel.signal_fd, POLLIN, 0}}};
  return ::poll(waits.data(), waits.size(), wait_ms) > 0;
}

}  // namespace

fs::path machine_lock_path() {
  // Not the user's TMPDIR, since all sessions of the machine must use the same file.
  return "/tmp/sdpa-wb-devices.lock";
}

int gpu_place(std::string_view id) {
  std::uint32_t hash = 2'166'136'261u;  // FNV-1a: stable across machines and builds
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619u;
  return k_gpus_begin + static_cast<int>(hash % k_gpu_places);
}

Result<DeviceLock> DeviceLock::open(const fs::path& path, std::vector<int> places) {
  // First without O_CREAT: in a sticky folder the kernel refuses to "create" another user's file.
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() && errno == ENOENT) {
    fd.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, k_lock_mode));
  }
  if (fd.valid())
    ::fchmod(fd.get(), k_lock_mode);  // independent of the umask; fails for all but the owner
  if (!fd.valid()) return errno_error("open the device lock", path, errno);
  std::sort(places.begin(), places.end());
  return DeviceLock(path, std::move(fd), std::move(places));
}

Result<DeviceLock::Held> DeviceLock::acquire(Deadline deadline, CancelSource cancel) const {
  Held held(m_fd.get());
  for (const off_t base : {k_queue_begin, off_t{0}}) {
    for (const int place : m_places) {
      while (!set_lock(m_fd.get(), F_WRLCK, base + place, 1)) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
          return errno_error("lock", m_path, errno);
        }
        if (std::chrono::steady_clock::now() >= deadline) {
          return Error{ErrorCode::locked, "take the device lock", m_path.string(),
                       "another session kept " + name_of(place) + " busy all the time",
                       "wait for it to end, or give this session another device"};
        }
        if (canceled_within(cancel, k_poll_ms)) {
          return Error{ErrorCode::canceled, "take the device lock", m_path.string(),
                       "the wire was closed while queueing", ""};
        }
      }
    }
  }
  set_lock(m_fd.get(), F_UNLCK, k_queue_begin, 0);  // the next in the queue may wait for the device
  return held;
}

DeviceLock::Held::~Held() {
  if (m_fd >= 0) set_lock(m_fd, F_UNLCK, 0, 0);
}

}  // namespace wb::worker
