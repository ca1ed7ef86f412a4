// SPDX-License-Identifier: MIT
// Kills its own process group, in the hope that the supervisor is in it.
#include <csignal>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  ::kill(0, SIGKILL);
  return WB_OK;
}
