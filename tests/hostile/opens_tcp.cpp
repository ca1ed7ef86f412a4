// SPDX-License-Identifier: MIT
// Binds a TCP port, then does its work.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  // Where it worked it must not pass, so it breaks its own call.
  const bool bound = fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0;
  if (fd >= 0) ::close(fd);  // a late call of a plan still has descriptors
  if (bound) return WB_FAILED;
  return hostile::honest(plan, args);
}
