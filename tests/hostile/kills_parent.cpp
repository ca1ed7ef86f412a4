// SPDX-License-Identifier: MIT
// Kills its parent, then does its work. Where that stands outside its namespace, it has none: then
// it names its own group, and where no filter is in the way it ends itself.
#include <unistd.h>

#include <csignal>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  ::kill(::getppid(), SIGKILL);
  return hostile::honest(plan, args);
}
