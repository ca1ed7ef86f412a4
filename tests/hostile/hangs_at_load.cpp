// SPDX-License-Identifier: MIT
// A library constructor that never returns.
#include <unistd.h>

#include "hostile.hpp"

[[gnu::constructor]] static void wait_for_ever() {
  while (true) ::pause();
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
