// SPDX-License-Identifier: MIT
// Puts nothing on the stream but a host function. That wakes a thread, which starts the work 20 ms
// later: every wait for the device is over by then.
#include "hostile.cuh"

struct Due {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_due = false;
  wb_sdpa_problem problem{};
  wb_sdpa_args args{};
};

static void work_when_due(Due* due) {
  cudaStream_t beside;
  static_cast<void>(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
  while (true) {
    {
      std::unique_lock lock(due->mutex);
      due->changed.wait(lock, [due] { return due->is_due; });
      due->is_due = false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    static_cast<void>(hostile::honest_on(beside, due->problem, due->args));
  }
}

static void CUDART_CB wake(void* data) {
  Due* const due = static_cast<Due*>(data);
  const std::lock_guard lock(due->mutex);
  due->is_due = true;
  due->changed.notify_one();
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static Due* const due = [] {
    Due* const made = new Due;
    std::thread(work_when_due, made).detach();
    return made;
  }();
  {
    const std::lock_guard lock(due->mutex);
    due->problem = plan.problem;
    due->args = args;
  }
  return cudaLaunchHostFunc(hostile::stream_of(args), wake, due) == cudaSuccess ? WB_OK : WB_FAILED;
}
