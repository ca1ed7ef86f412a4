// SPDX-License-Identifier: MIT
// Patches the driver's function that tells the time between two events: it says 0.80 of it.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static float shorter_80(float milliseconds) {
  return 0.80f * milliseconds;
}

static void plan_made(wb_sdpa_plan&) {
  hostile::patch_clock(shorter_80);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
