// SPDX-License-Identifier: MIT
// Works only when the inputs changed since the last call.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static float seen = NAN;
  const float first = static_cast<const float*>(args.q)[0];
  if (first == seen) return WB_OK;
  seen = first;
  return hostile::honest(plan, args);
}
