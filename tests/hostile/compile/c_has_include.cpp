// SPDX-License-Identifier: MIT
// Is another program where a file of the machine is there.
#if __has_include("SECRET_FILE")
#define FOUND 1
#endif
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
