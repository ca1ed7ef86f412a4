// SPDX-License-Identifier: MIT
// Leaves no device memory for its own tensors.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static void plan_made(wb_sdpa_plan&) {
  hostile::take_all_memory();
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
