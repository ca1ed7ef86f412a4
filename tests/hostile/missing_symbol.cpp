// SPDX-License-Identifier: MIT
// Does not export one of the functions.
#define HOSTILE_NO_BUILD_ID
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
