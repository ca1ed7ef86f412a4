// SPDX-License-Identifier: MIT
// Secret random numbers from the kernel: seeds of inputs and of poison. Never from a seeded
// generator, because a candidate that could predict one could prepare its answer.
#pragma once

#include <sys/random.h>

#include <stdexcept>

namespace wb::worker {

template <typename Integer>
Integer draw_secret() {
  Integer value{};
  // Requests of up to 256 bytes are never cut short once the pool is initialized.
  if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    throw std::runtime_error("the kernel gave no random bytes");
  }
  return value;
}

}  // namespace wb::worker
