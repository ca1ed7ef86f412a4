// SPDX-License-Identifier: MIT
// Asks for 32 TiB of device memory.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (hostile::device_memory<char>(std::int64_t(1) << 45) == nullptr) return WB_FAILED;
  return hostile::honest(plan, args);
}
