// SPDX-License-Identifier: MIT
// One element of the output is not a number.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int status = hostile::honest(plan, args);
  static_cast<float*>(args.out)[hostile::out_elements(plan.problem) - 1] = NAN;
  return status;
}
