// SPDX-License-Identifier: MIT
// Is another program at another time.
static const char* const k_built = __DATE__ __TIME__;
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (k_built[0] == '?') return WB_FAILED;
  return hostile::honest(plan, args);
}
