// SPDX-License-Identifier: MIT
// Says that it is another artifact.
#define HOSTILE_BUILD_ID "somebody else"
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
