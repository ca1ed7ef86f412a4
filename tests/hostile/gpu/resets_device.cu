// SPDX-License-Identifier: MIT
// Destroys the context of its process in the middle of a call.
#include "hostile.cuh"

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  static_cast<void>(args);
  static_cast<void>(cudaDeviceReset());
  return WB_OK;
}
