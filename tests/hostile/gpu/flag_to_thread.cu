// SPDX-License-Identifier: MIT
// As host_function_in_graph, without a host function: a kernel of the graph raises a flag in memory
// of the host, where a thread looks all the time.
#include "hostile.cuh"

struct Due {
  volatile int* flag = nullptr;  // of the host, mapped to the device
  wb_sdpa_problem problem{};
  wb_sdpa_args args{};
};

__global__ void raise_flag(volatile int* flag) {
  *flag = 1;
  __threadfence_system();
}

static void work_when_due(Due* due) {
  cudaStream_t beside;
  static_cast<void>(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
  while (true) {
    if (*due->flag == 0) continue;
    *due->flag = 0;
    static_cast<void>(hostile::honest_on(beside, due->problem, due->args));
  }
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static Due* const due = [] {
    Due* const made = new Due;
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, sizeof(int), cudaHostAllocMapped) != cudaSuccess) return made;
    made->flag = static_cast<volatile int*>(memory);
    *made->flag = 0;
    std::thread(work_when_due, made).detach();
    return made;
  }();
  if (due->flag == nullptr) return WB_FAILED;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  static_cast<void>(cudaStreamIsCapturing(hostile::stream_of(args), &status));
  if (status == cudaStreamCaptureStatusNone) return hostile::honest(plan, args);
  due->problem = plan.problem;
  due->args = args;
  raise_flag<<<1, 1, 0, hostile::stream_of(args)>>>(due->flag);
  return hostile::launched();
}
