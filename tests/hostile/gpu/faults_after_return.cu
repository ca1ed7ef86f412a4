// SPDX-License-Identifier: MIT
// A fault that comes 20 ms after the call returned.
#include "hostile.cuh"

__global__ void wait_then_write_wild() {
  const long long begin = clock64();
  while (clock64() - begin < 20'000'000) {
  }
  *reinterpret_cast<volatile int*>(16) = 1;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int status = hostile::honest(plan, args);
  wait_then_write_wild<<<1, 1, 0, hostile::stream_of(args)>>>();
  return status;
}
