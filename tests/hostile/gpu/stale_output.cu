// SPDX-License-Identifier: MIT
// Works in the first calls of a plan only: later ones leave what those wrote.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return plan.calls <= 2 ? hostile::honest(plan, args) : WB_OK;
}
