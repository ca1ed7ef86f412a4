// SPDX-License-Identifier: MIT
// Works once for each address of Q.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static std::map<const void*, bool> done;
  bool& known = done[args.q];
  if (known) return WB_OK;
  known = true;
  return hostile::honest(plan, args);
}
