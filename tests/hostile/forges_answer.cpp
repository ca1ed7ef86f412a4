// SPDX-License-Identifier: MIT
// Sends an answer of its own before the real one: success, after one nanosecond.
#include <sys/socket.h>

#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  char answer[96];
  for (int number = 1; number <= 40; ++number) {
    const int length =
        std::snprintf(answer, sizeof answer, "{\"n\":%d,\"ok\":true,\"call_us\":0.001}", number);
    ::send(3, answer, static_cast<std::size_t>(length), MSG_DONTWAIT);
  }
  return hostile::honest(plan, args);
}
