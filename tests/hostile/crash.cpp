// SPDX-License-Identifier: MIT
// Writes through a null pointer.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  volatile int* nowhere = nullptr;
  *nowhere = static_cast<int>(plan.calls);
  return hostile::honest(plan, args);
}
