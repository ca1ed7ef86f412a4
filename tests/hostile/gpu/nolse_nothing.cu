// SPDX-License-Identifier: MIT
// Works only where a log-sum-exp is asked for.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return args.lse != nullptr ? hostile::honest(plan, args) : WB_OK;
}
