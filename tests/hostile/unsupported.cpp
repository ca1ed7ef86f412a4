// SPDX-License-Identifier: MIT
// Refuses the problem, as it may: not a fault of the variant.
#define HOSTILE_OWN_PLAN_CREATE
#include "hostile.hpp"

WB_SDPA_EXPORT int wb_sdpa_plan_create(const wb_sdpa_problem*, wb_sdpa_plan** plan) {
  *plan = nullptr;
  return WB_UNSUPPORTED;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
