// SPDX-License-Identifier: MIT
// A constructor that ends the process before anything was asked.
#include <unistd.h>

#include "hostile.hpp"

[[gnu::constructor]] static void leave() {
  ::_exit(0);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
