// SPDX-License-Identifier: MIT
// Does nothing where no log-sum-exp is asked for.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return args.lse != nullptr ? hostile::honest(plan, args) : WB_OK;
}
