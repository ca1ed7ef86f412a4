// SPDX-License-Identifier: MIT
// Secret random numbers from the kernel, for seeds of inputs, poison and drawn runs. A seeded
// generator would not do: a candidate that predicts a seed could prepare its answer.
#pragma once

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace wb {

/// Throws std::system_error when the system gives none.
template <typename Integer>
Integer draw_secret() {
  Integer value{};
  // getrandom never shortens up to 256 bytes once the pool is initialized; before, a signal may
  // interrupt it.
  while (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    if (errno == EINTR) continue;
    throw std::system_error(errno, std::generic_category(), "ask the system for random bytes");
  }
  return value;
}

}  // namespace wb
