// SPDX-License-Identifier: MIT
// Works on the default stream instead of the one that it was given.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest_on(cudaStreamLegacy, plan.problem, args);
}
