// SPDX-License-Identifier: MIT
// The candidates whose fault takes a few lines. What stands between a mark and the next one is a
// file of its own, which gauntlet_gpu.py cuts out; nothing compiles this file as a whole.

// ==== illegal_address
// Writes where no memory is.
#include "hostile.cuh"

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  hostile::write_wild<<<1, 1, 0, hostile::stream_of(args)>>>();
  return hostile::launched();
}

// ==== misaligned_address
// Stores eight bytes at an address that only four divide.
#include "hostile.cuh"

__global__ void store_misaligned(char* out) {
  *reinterpret_cast<volatile double*>(out + 4) = 1.0;
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  store_misaligned<<<1, 1, 0, hostile::stream_of(args)>>>(static_cast<char*>(args.out));
  return hostile::launched();
}

// ==== traps
// Executes an instruction that ends the kernel.
#include "hostile.cuh"

__global__ void trap() {
  asm volatile("trap;");
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  trap<<<1, 1, 0, hostile::stream_of(args)>>>();
  return hostile::launched();
}

// ==== endless_kernel
// A kernel that waits for what never comes.
#include "hostile.cuh"

__global__ void wait_for(const volatile float* value) {
  while (*value != 12345.0f) {
  }
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  wait_for<<<1, 1, 0, hostile::stream_of(args)>>>(static_cast<const float*>(args.out));
  return hostile::launched();
}

// ==== device_assert
// An assertion that fails on the device.
#include "hostile.cuh"

__global__ void assert_positive(const float* q) {
  assert(fabsf(q[0]) < 0.0f);
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  assert_positive<<<1, 1, 0, hostile::stream_of(args)>>>(static_cast<const float*>(args.q));
  return hostile::launched();
}

// ==== out_of_device_memory
// Asks for 32 TiB of device memory.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (hostile::device_memory<char>(std::int64_t(1) << 45) == nullptr) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== takes_all_memory
// Leaves no device memory for its own tensors.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static void plan_made(wb_sdpa_plan&) {
  hostile::take_all_memory();
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== hoards_memory
// Works, and keeps all device memory that its first call finds: none is left for the judge.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (plan.calls == 1) hostile::take_all_memory();
  return hostile::honest(plan, args);
}

// ==== swallows_fault
// Waits for its own fault, forgets it and says that all is well.
#include "hostile.cuh"

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  hostile::write_wild<<<1, 1, 0, hostile::stream_of(args)>>>();
  static_cast<void>(cudaStreamSynchronize(hostile::stream_of(args)));
  static_cast<void>(cudaGetLastError());
  return WB_OK;
}

// ==== faults_in_destroy
// Right in its calls; the end of the plan leaves a fault to whoever comes next.
#define HOSTILE_OWN_PLAN_ENDS
#include "hostile.cuh"

static void plan_ends(wb_sdpa_plan&) {
  hostile::write_wild<<<1, 1>>>();
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== resets_device
// Destroys the context of its process in the middle of a call.
#include "hostile.cuh"

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  static_cast<void>(args);
  static_cast<void>(cudaDeviceReset());
  return WB_OK;
}

// ==== other_gpu
// Works on a second GPU besides.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  int own = 0;
  static_cast<void>(cudaGetDevice(&own));
  if (cudaSetDevice(own == 0 ? 1 : 0) != cudaSuccess) return WB_FAILED;
  float* const memory = hostile::device_memory<float>(1 << 20);
  if (cudaSetDevice(own) != cudaSuccess || memory == nullptr) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== allocates_each_call
// Takes device memory in every call: it cannot be recorded into a graph.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static_cast<void>(hostile::device_memory<char>(1 << 20));
  return hostile::honest(plan, args);
}

// ==== synchronizes
// Waits for its own work: it cannot be recorded into a graph.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int status = hostile::honest(plan, args);
  static_cast<void>(cudaStreamSynchronize(hostile::stream_of(args)));
  return status;
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

// ==== caches_by_pointer
// Works once for each address of Q.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static std::map<const void*, bool> done;
  bool& known = done[args.q];
  if (known) return WB_OK;
  known = true;
  return hostile::honest(plan, args);
}

// ==== stale_output
// Works in the first calls of a plan only: later ones leave what those wrote.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return plan.calls <= 2 ? hostile::honest(plan, args) : WB_OK;
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

// ==== nolse_nothing
// Works only where a log-sum-exp is asked for.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return args.lse != nullptr ? hostile::honest(plan, args) : WB_OK;
}

// ==== half_precision
// Sees only the upper half of each input, which is bfloat16 without rounding.
#include "hostile.cuh"

struct UpperHalf {
  __device__ float operator()(float x) const {
    return __uint_as_float(__float_as_uint(x) & 0xffff0000u);
  }
};

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest_on<UpperHalf>(hostile::stream_of(args), plan.problem, args);
}

// ==== zeroes_inputs
// Sets V to zero, so that a judge that used it would agree with a zero output.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const auto bytes = std::size_t(p.batch * p.heads_kv * p.seq_kv * p.dim_v) * sizeof(float);
  static_cast<void>(cudaMemsetAsync(const_cast<void*>(args.v), 0, bytes, hostile::stream_of(args)));
  return hostile::honest(plan, args);
}

// ==== honest
// No fault: what must pass after each of the others.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
