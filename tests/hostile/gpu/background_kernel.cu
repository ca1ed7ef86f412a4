// SPDX-License-Identifier: MIT
// Leaves a kernel that runs on for ever beside its work.
#include "hostile.cuh"

__global__ void run_on(const volatile float* value) {
  while (*value != 12345.0f) {
  }
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static float* const value = hostile::device_memory<float>(1);
  cudaStream_t beside;
  if (cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking) != cudaSuccess) return WB_FAILED;
  const int status = hostile::honest(plan, args);
  run_on<<<1, 1, 0, beside>>>(value);
  return status;
}
