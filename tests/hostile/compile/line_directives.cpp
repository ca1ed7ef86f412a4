// SPDX-License-Identifier: MIT
// A hundred thousand line directives; the test writes them at the end of this file.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
