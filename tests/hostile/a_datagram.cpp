// SPDX-License-Identifier: MIT
// Makes a pair of datagram sockets, one of which could write to any name.
#include <sys/socket.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0) return WB_FAILED;
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
