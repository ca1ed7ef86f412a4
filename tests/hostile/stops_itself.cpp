// SPDX-License-Identifier: MIT
// Stops its own process, so that it neither runs nor ends.
#include <csignal>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  std::raise(SIGSTOP);
  return hostile::honest(plan, args);
}
