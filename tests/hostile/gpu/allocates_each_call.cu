// SPDX-License-Identifier: MIT
// Takes device memory in every call: it cannot be recorded into a graph.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static_cast<void>(hostile::device_memory<char>(1 << 20));
  return hostile::honest(plan, args);
}
