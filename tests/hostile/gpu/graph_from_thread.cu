// SPDX-License-Identifier: MIT
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
