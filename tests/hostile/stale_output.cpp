// SPDX-License-Identifier: MIT
// Works in the first calls of a plan only: later calls leave what those wrote.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return plan.calls <= 2 ? hostile::honest(plan, args) : WB_OK;
}
