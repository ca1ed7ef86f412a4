// SPDX-License-Identifier: MIT
// Writes garbage to every descriptor it can guess.
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const char garbage[] = "{\"n\":1,\"ok\":tru\n\xff\xfe garbage";
  for (int fd = 1; fd < 64; ++fd) {
    [[maybe_unused]] const ssize_t written = ::write(fd, garbage, sizeof garbage);
  }
  return hostile::honest(plan, args);
}
