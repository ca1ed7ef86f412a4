// SPDX-License-Identifier: MIT
// Recurses until the stack is used up.
#include "hostile.hpp"

static std::int64_t deeper(volatile char* above, std::int64_t levels) {
  volatile char frame[4096];
  frame[0] = above[0];
  const std::int64_t below = levels > 0 ? deeper(frame, levels - 1) : 0;
  return below + frame[0];
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  volatile char first = 0;
  return static_cast<int>(deeper(&first, 1'000'000));
}
