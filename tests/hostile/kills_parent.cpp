// SPDX-License-Identifier: MIT
// Kills its supervisor and all it may signal, then does its work.
#include <unistd.h>

#include <csignal>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  ::kill(::getppid(), SIGKILL);
  return hostile::honest(plan, args);
}
