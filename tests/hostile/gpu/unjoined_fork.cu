// SPDX-License-Identifier: MIT
// Forks the recording onto a second stream by an event, works there and does not join.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static cudaStream_t beside = nullptr;
  static cudaEvent_t fork = nullptr;
  if (beside == nullptr) {
    static_cast<void>(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    static_cast<void>(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  }
  if (cudaEventRecord(fork, hostile::stream_of(args)) != cudaSuccess) return WB_FAILED;
  if (cudaStreamWaitEvent(beside, fork, 0) != cudaSuccess) return WB_FAILED;
  return hostile::honest_on(beside, plan.problem, args);
}
