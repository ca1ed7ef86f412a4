// SPDX-License-Identifier: MIT
// Does its work and writes one element before its output.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static_cast<float*>(args.out)[-1] = 1;
  return hostile::honest(plan, args);
}
