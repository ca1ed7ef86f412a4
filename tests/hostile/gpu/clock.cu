// SPDX-License-Identifier: MIT
// The driver's event timer, patched; and work that is not on the given stream when the clock looks.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== clock_80
// Patches the driver's function that tells the time between two events: it says 0.80 of it.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static float shorter_80(float milliseconds) {
  return 0.80f * milliseconds;
}

static void plan_made(wb_sdpa_plan&) {
  hostile::patch_clock(shorter_80);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== clock_91
// Patches the driver's function that tells the time between two events: it says 0.91 of it.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static float shorter_91(float milliseconds) {
  return 0.91f * milliseconds;
}

static void plan_made(wb_sdpa_plan&) {
  hostile::patch_clock(shorter_91);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== uneven_events
// As clock_80, but what it takes from three samples it gives to the fourth: sums are right, and the
// median lies.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static float from_one_to_another(float milliseconds) {
  static int number = 0;
  static float owed = 0;
  if (++number % 4 != 0) {
    owed += 0.4f * milliseconds;
    return 0.6f * milliseconds;
  }
  const float told = milliseconds + owed;
  owed = 0;
  return told;
}

static void plan_made(wb_sdpa_plan&) {
  hostile::patch_clock(from_one_to_another);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== patches_events
// Patches the driver's function that tells the time between two events: it says 0.2 ms,
// always.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static int always_the_same(float* milliseconds, void*, void*) {
  *milliseconds = 0.2f;
  return 0;
}

/// Overwrites the first bytes of the function: mov rax, always_the_same; jmp rax.
static void plan_made(wb_sdpa_plan&) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto* code = static_cast<unsigned char*>(driver ? dlsym(driver, "cuEventElapsedTime") : nullptr);
  if (code == nullptr) return;
  unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  const auto target = reinterpret_cast<std::uintptr_t>(&always_the_same);
  std::memcpy(jump + 2, &target, sizeof target);
  const auto page = reinterpret_cast<std::uintptr_t>(code) & ~std::uintptr_t{4095};
  if (mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return;
  std::memcpy(code, jump, sizeof jump);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

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
