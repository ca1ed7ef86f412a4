// SPDX-License-Identifier: MIT
// Sends answers without end on its private socket.
#include <sys/socket.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  const std::vector<char> packet(32 << 10, ' ');
  while (true) ::send(3, packet.data(), packet.size(), 0);
}
