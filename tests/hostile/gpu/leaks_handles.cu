// SPDX-License-Identifier: MIT
// Streams, events, graphs and memory that it never gives back.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static void plan_made(wb_sdpa_plan&) {
  for (int i = 0; i < 64; ++i) {
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaStreamCreate(&stream);
    cudaEventCreate(&event);
    cudaGraphCreate(&graph, 0);
    static_cast<void>(hostile::device_memory<char>(1 << 20));
  }
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
