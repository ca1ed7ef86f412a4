// SPDX-License-Identifier: MIT
// The same, with the name of the probe pasted together.
#define PASTE(a, b) a##b
#if PASTE(__has_, include)("SECRET_FILE")
#define FOUND 1
#endif
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
