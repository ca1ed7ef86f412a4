// SPDX-License-Identifier: MIT
// DeviceLock: one measuring request at a time per CPU or GPU of the machine, so that two sessions
// on the same device queue instead of disturbing each other. Held for one request, never between
// requests.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "worker/channel.hpp"

namespace wb::worker {

class DeviceLock {
 public:
  /// Locks one byte per place (CPU number, or gpu_place()) in a file that all users of the machine
  /// share. The file can be opened for writing only, which a write lock needs and subjects may not
  /// do, so that subjects cannot lock it. Waiting is fair between two sessions: the waiting one
  /// holds the queue, and the one that just finished must queue again.
  static Result<DeviceLock> open(const fs::path& path, std::vector<int> places);

  /// Released on destruction.
  class Held {
   public:
    explicit Held(int fd) : m_fd(fd) {}
    Held(Held&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}
    Held& operator=(Held&&) = delete;
    ~Held();

   private:
    int m_fd = -1;
  };
  /// Errors: locked (another session held the device until the deadline), canceled, io.
  Result<Held> acquire(Deadline deadline, CancelSource cancel) const;

 private:
  DeviceLock(fs::path path, UniqueFd fd, std::vector<int> places)
      : m_path(std::move(path)), m_fd(std::move(fd)), m_places(std::move(places)) {}
  fs::path m_path;
  UniqueFd m_fd;
  std::vector<int> m_places;  // ascending, so that overlapping sets cannot deadlock
};

/// Place n's byte in the queue part of the file is at this offset plus n.
inline constexpr off_t k_queue_begin = 1 << 20;

/// The place of a GPU, from its stable id, so that it is the same in every process, whatever
/// devices are visible. Two GPUs with the same place by chance queue needlessly.
int gpu_place(std::string_view id);

/// The lock file of all workers of this machine.
fs::path machine_lock_path();

}  // namespace wb::worker
