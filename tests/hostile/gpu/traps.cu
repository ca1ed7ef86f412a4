// SPDX-License-Identifier: MIT
// Executes an instruction that ends the kernel.
#include "hostile.cuh"

__global__ void trap() {
  asm volatile("trap;");
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  trap<<<1, 1, 0, hostile::stream_of(args)>>>();
  return hostile::launched();
}
