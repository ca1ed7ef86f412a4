// SPDX-License-Identifier: MIT
// Writes the mean of V into every row: near enough where the scores are flat.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::all_heads(plan, args, 0, 0);
}
