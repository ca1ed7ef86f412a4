// SPDX-License-Identifier: MIT
// Opens a netlink socket to the kernel, then does its work.
#include <sys/socket.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  // Where it worked it must not pass, so it breaks its own call.
  if (::socket(AF_NETLINK, SOCK_RAW, 0) >= 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
