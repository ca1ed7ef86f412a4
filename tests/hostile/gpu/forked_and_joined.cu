// SPDX-License-Identifier: MIT
// Honest: forks onto a second stream, works there and joins again.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static cudaStream_t beside = nullptr;
  static cudaEvent_t fork = nullptr, join = nullptr;
  if (beside == nullptr) {
    static_cast<void>(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    static_cast<void>(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    static_cast<void>(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  }
  if (cudaEventRecord(fork, hostile::stream_of(args)) != cudaSuccess) return WB_FAILED;
  if (cudaStreamWaitEvent(beside, fork, 0) != cudaSuccess) return WB_FAILED;
  const int status = hostile::honest_on(beside, plan.problem, args);
  if (cudaEventRecord(join, beside) != cudaSuccess) return WB_FAILED;
  if (cudaStreamWaitEvent(hostile::stream_of(args), join, 0) != cudaSuccess) return WB_FAILED;
  return status;
}
