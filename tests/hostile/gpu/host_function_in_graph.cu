// SPDX-License-Identifier: MIT
// Behaves while it is not recorded. Into a graph it puts a host function only, which wakes a thread
// that starts the work at once, on a stream of its own: it is done soon after the block's last
// event.
#include "hostile.cuh"

struct Due {
  std::atomic<int> due{0};
  wb_sdpa_problem problem{};
  wb_sdpa_args args{};
};

static void work_when_due(Due* due) {
  cudaStream_t beside;
  static_cast<void>(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
  while (true) {
    // Of a batch the last one is enough: all write the same output.
    if (due->due.exchange(0) != 0) {
      static_cast<void>(hostile::honest_on(beside, due->problem, due->args));
    }
  }
}

static void CUDART_CB wake(void* data) {
  static_cast<Due*>(data)->due.store(1);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static Due* const due = [] {
    Due* const made = new Due;
    std::thread(work_when_due, made).detach();
    return made;
  }();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  static_cast<void>(cudaStreamIsCapturing(hostile::stream_of(args), &status));
  if (status == cudaStreamCaptureStatusNone) return hostile::honest(plan, args);
  due->problem = plan.problem;
  due->args = args;
  return cudaLaunchHostFunc(hostile::stream_of(args), wake, due) == cudaSuccess ? WB_OK : WB_FAILED;
}
