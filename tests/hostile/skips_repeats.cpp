// SPDX-License-Identifier: MIT
// Works only when its output is not what it left there last; else it returns at once.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static float left = NAN;
  const float& last = static_cast<float*>(args.out)[hostile::out_elements(plan.problem) - 1];
  if (last == left) return WB_OK;
  hostile::honest(plan, args);
  left = last;
  return WB_OK;
}
