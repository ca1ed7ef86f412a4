// SPDX-License-Identifier: MIT
// The same, with the name pasted together.
#define PASTE(a, b) a##b
static const char* const k_built = PASTE(__TI, ME__);
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (k_built[0] == '?') return WB_FAILED;
  return hostile::honest(plan, args);
}
