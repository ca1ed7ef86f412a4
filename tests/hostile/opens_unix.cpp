// SPDX-License-Identifier: MIT
// Listens on an abstract socket, then does its work.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path + 1, "wb-hostile", 10);
  static const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  static const bool bound =
      fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
  // Where it worked it must not pass, so it breaks its own call.
  if (bound) return WB_FAILED;
  return hostile::honest(plan, args);
}
