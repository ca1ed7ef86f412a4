// SPDX-License-Identifier: MIT
// As clock_80, but what it takes from three samples it gives to the fourth: sums are right, and the
// median lies.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static float from_one_to_another(float milliseconds) {
  static int number = 0;
  static float owed = 0;
  if (++number % 4 != 0) {
    owed += 0.4f * milliseconds;
    return 0.6f * milliseconds;
  }
  const float told = milliseconds + owed;
  owed = 0;
  return told;
}

static void plan_made(wb_sdpa_plan&) {
  hostile::patch_clock(from_one_to_another);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
