// SPDX-License-Identifier: MIT
// Closes every descriptor, its private socket too.
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  for (int fd = 0; fd < 64; ++fd) ::close(fd);
  return hostile::honest(plan, args);
}
