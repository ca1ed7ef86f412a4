// SPDX-License-Identifier: MIT
// Prints far more from the device than its buffer holds, in its first calls: a drawn run has up to
// 4,000, which would take minutes.
#include "hostile.cuh"

__global__ void print_much() {
  for (int i = 0; i < 1000; ++i) printf("thread %d says much %d\n", threadIdx.x, i);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static int calls = 0;
  if (calls++ < 3) print_much<<<64, 64, 0, hostile::stream_of(args)>>>();
  return hostile::honest(plan, args);
}
