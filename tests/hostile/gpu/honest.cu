// SPDX-License-Identifier: MIT
// No fault: what must pass after each of the others.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
