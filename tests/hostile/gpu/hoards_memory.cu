// SPDX-License-Identifier: MIT
// Works, and keeps all device memory that its first call finds: none is left for the judge.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (plan.calls == 1) hostile::take_all_memory();
  return hostile::honest(plan, args);
}
