// SPDX-License-Identifier: MIT
// Asks not to end with its supervisor, then does its work.
#include <sys/prctl.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) == 0) return WB_FAILED;
  return hostile::honest(plan, args);
}
