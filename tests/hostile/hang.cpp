// SPDX-License-Identifier: MIT
// Never returns.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args&) {
  volatile std::int64_t& calls = plan.calls;
  while (calls != 0) calls = calls + 1;
  return WB_OK;
}
