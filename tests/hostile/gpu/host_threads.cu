// SPDX-License-Identifier: MIT
// Work that a thread of the host starts later.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== host_function_defers
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

// ==== host_function_in_graph
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

// ==== flag_to_thread
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

// ==== graph_from_thread
// Keeps a graph of its own with the work in it; while it is recorded, it does nothing, and a thread
// launches its graph over and over on another stream.
#include "hostile.cuh"

static std::atomic<cudaGraphExec_t> g_ready{nullptr};

static void launch_on() {
  cudaStream_t beside;
  static_cast<void>(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
  while (true) {
    if (const cudaGraphExec_t graph = g_ready.load(); graph != nullptr) {
      static_cast<void>(cudaGraphLaunch(graph, beside));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

static cudaGraphExec_t graph_of(const wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return nullptr;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
    return nullptr;
  static_cast<void>(hostile::honest_on(stream, plan.problem, args));
  if (cudaStreamEndCapture(stream, &graph) != cudaSuccess) return nullptr;
  return cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess ? ready : nullptr;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static const bool has_thread = [] {
    std::thread(launch_on).detach();
    return true;
  }();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  static_cast<void>(cudaStreamIsCapturing(hostile::stream_of(args), &status));
  if (status != cudaStreamCaptureStatusNone && has_thread) return WB_OK;
  if (plan.calls == 1) g_ready.store(graph_of(plan, args));
  return hostile::honest(plan, args);
}
