// SPDX-License-Identifier: MIT
// Sends a UDP packet to this machine, then does its work.
#include <netinet/in.h>
#include <sys/socket.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(9);
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  // Where it worked it must not pass, so it breaks its own call.
  if (::sendto(fd, "x", 1, 0, reinterpret_cast<sockaddr*>(&here), sizeof here) == 1) {
    return WB_FAILED;
  }
  return hostile::honest(plan, args);
}
