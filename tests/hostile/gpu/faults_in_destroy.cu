// SPDX-License-Identifier: MIT
// Right in its calls; the end of the plan leaves a fault to whoever comes next.
#define HOSTILE_OWN_PLAN_ENDS
#include "hostile.cuh"

static void plan_ends(wb_sdpa_plan&) {
  hostile::write_wild<<<1, 1>>>();
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
