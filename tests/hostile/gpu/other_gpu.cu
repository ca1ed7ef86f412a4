// SPDX-License-Identifier: MIT
// Works on a second GPU besides.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  int own = 0;
  static_cast<void>(cudaGetDevice(&own));
  if (cudaSetDevice(own == 0 ? 1 : 0) != cudaSuccess) return WB_FAILED;
  float* const memory = hostile::device_memory<float>(1 << 20);
  if (cudaSetDevice(own) != cudaSuccess || memory == nullptr) return WB_FAILED;
  return hostile::honest(plan, args);
}
