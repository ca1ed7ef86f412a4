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
  /// The file can be opened for writing only, which is all that a write lock needs, and which
  /// subjects may not: who cannot open it cannot lock it either.
  /// A byte per place (CPU number, or gpu_place()) in one file that all users of the machine share.
  /// Waiting is fair between two sessions: who waits holds the queue, and who has just finished
  /// must queue again.
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
  /// Errors: locked (another session kept the device until the deadline), canceled, io.
  Result<Held> acquire(Deadline deadline, CancelSource cancel) const;

 private:
  DeviceLock(fs::path path, UniqueFd fd, std::vector<int> places)
      : m_path(std::move(path)), m_fd(std::move(fd)), m_places(std::move(places)) {}
  fs::path m_path;
  UniqueFd m_fd;
  std::vector<int> m_places;  // ascending, so that overlapping sets cannot deadlock
};

/// Byte of place n in the queue of the file: this and n.
inline constexpr off_t k_queue_begin = 1 << 20;

/// The place of a GPU, from its stable id: the same in every process, whatever devices that sees.
/// Two GPUs that share one by chance queue for nothing.
int gpu_place(std::string_view id);

/// The file that all workers of this machine use.
fs::path machine_lock_path();

}  // namespace wb::worker
