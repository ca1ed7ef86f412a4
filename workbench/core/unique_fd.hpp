// SPDX-License-Identifier: MIT
// Owned file descriptors, and how children of fork() close them.
#pragma once

#include <utility>

#include "core/error.hpp"

namespace wb {

/// An owned file descriptor, close-on-exec. -1 means none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) { reset(fd); }
  UniqueFd(UniqueFd&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }
  [[nodiscard]] int get() const { return m_fd; }
  [[nodiscard]] bool valid() const { return m_fd >= 0; }
  int release();
  void reset(int fd = -1);

 private:
  int m_fd = -1;
};

/// From now on a child of fork() closes the parent's UniqueFds; it would otherwise share their
/// locks and hold their pipes open. For programs that fork themselves (Python). Call it once.
/// Errors: io.
Result<void> close_in_forked_children();

}  // namespace wb
