// SPDX-License-Identifier: MIT
// Work that is not on the given stream when the clock looks.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== side_stream
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

// ==== legacy_stream
// Works on the default stream instead of the one that it was given.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest_on(cudaStreamLegacy, plan.problem, args);
}

// ==== late_output
// Returns at once; a thread of the host starts the work 50 ms later.
#include "hostile.cuh"

static void work_later(wb_sdpa_problem problem, wb_sdpa_args args) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  static_cast<void>(hostile::honest_on(cudaStreamLegacy, problem, args));
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  std::thread(work_later, plan.problem, args).detach();
  return WB_OK;
}

// ==== synchronizes
// Waits for its own work: it cannot be recorded into a graph.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int status = hostile::honest(plan, args);
  static_cast<void>(cudaStreamSynchronize(hostile::stream_of(args)));
  return status;
}

// ==== skips_capture
// Works only where it is not being recorded into a graph.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  static_cast<void>(cudaStreamIsCapturing(hostile::stream_of(args), &status));
  return status == cudaStreamCaptureStatusNone ? hostile::honest(plan, args) : WB_OK;
}

// ==== amortizes_capture
// Of the calls that are recorded into one graph, only the first works; the output is right.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long capture = 0;
  static unsigned long long seen = 0;
  static_cast<void>(cudaStreamGetCaptureInfo(hostile::stream_of(args), &status, &capture));
  if (status != cudaStreamCaptureStatusNone && capture == seen) return WB_OK;
  if (status != cudaStreamCaptureStatusNone) seen = capture;
  return hostile::honest(plan, args);
}

// ==== unjoined_fork
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

// ==== forked_and_joined
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
