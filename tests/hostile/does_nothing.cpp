// SPDX-License-Identifier: MIT
// Returns at once.
#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  return WB_OK;
}
