// SPDX-License-Identifier: MIT
// Does its work and hangs when its plan is destroyed.
#include <unistd.h>

#define HOSTILE_OWN_PLAN_DESTROY
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

WB_SDPA_EXPORT void wb_sdpa_plan_destroy(wb_sdpa_plan*) {
  while (true) ::pause();
}
