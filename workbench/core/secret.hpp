// SPDX-License-Identifier: MIT
// Secret random numbers from the kernel: seeds of inputs, of poison and of drawn runs. Never from
// a seeded generator, because a candidate that could predict one could prepare its answer.
#pragma once

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace wb {

/// Throws std::system_error where the machine gives none.
template <typename Integer>
Integer draw_secret() {
  Integer value{};
  // Up to 256 bytes are never cut short once the pool is initialized; a signal may come before.
  while (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    if (errno == EINTR) continue;
    throw std::system_error(errno, std::generic_category(), "ask the system for random bytes");
  }
  return value;
}

}  // namespace wb
