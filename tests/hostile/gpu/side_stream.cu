// SPDX-License-Identifier: MIT
// Works on a stream of its own: what is timed is empty.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static const cudaStream_t beside = [] {
    cudaStream_t made;
    static_cast<void>(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    return made;
  }();
  return hostile::honest_on(beside, plan.problem, args);
}
