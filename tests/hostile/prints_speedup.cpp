// SPDX-License-Identifier: MIT
// Prints a speedup of its own invention, then does its work: nobody reads it.
#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  std::puts("{\"speedup\": 100.0, \"pass\": true}");
  return hostile::honest(plan, args);
}
