// SPDX-License-Identifier: MIT
// Faults on the device.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== honest
// No fault: what must pass after each of the others.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

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

// ==== background_kernel
// Leaves a kernel that runs on for ever beside its work.
#include "hostile.cuh"

__global__ void run_on(const volatile float* value) {
  while (*value != 12345.0f) {
  }
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static float* const value = hostile::device_memory<float>(1);
  cudaStream_t beside;
  if (cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking) != cudaSuccess) return WB_FAILED;
  const int status = hostile::honest(plan, args);
  run_on<<<1, 1, 0, beside>>>(value);
  return status;
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

// ==== stack_overflow
// Recursion without an end on the device: local memory runs out.
#include "hostile.cuh"

__device__ __noinline__ float deeper(volatile float* out, int depth) {
  volatile float frame[64];
  for (int i = 0; i < 64; ++i) frame[i] = out[i % 2] + float(depth);
  return depth < 0 ? frame[0] : deeper(out, depth + 1) + frame[depth % 64];
}

__global__ void recurse(float* out) {
  out[0] = deeper(out, 0);
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  recurse<<<1, 1, 0, hostile::stream_of(args)>>>(static_cast<float*>(args.out));
  return hostile::launched();
}

// ==== too_much_shared
// Asks for more shared memory than a block can have, and says that it failed.
#include "hostile.cuh"

__global__ void needs_much(float* out) {
  extern __shared__ float much_shared[];
  much_shared[threadIdx.x] = 1.0f;
  out[threadIdx.x] = much_shared[0];
}

constexpr int k_far_too_many_bytes = 300 * 1024;

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  needs_much<<<1, 32, k_far_too_many_bytes, hostile::stream_of(args)>>>(
      static_cast<float*>(args.out));
  return hostile::launched();
}

// ==== swallows_launch_failure
// A launch beyond the limit of shared memory, and nobody looks at what became of it.
#include "hostile.cuh"

__global__ void needs_shared(float* out) {
  extern __shared__ float shared_by_the_block[];
  shared_by_the_block[threadIdx.x] = 1.0f;
  out[threadIdx.x] = shared_by_the_block[0];
}

constexpr int k_too_many_bytes = 300 * 1024;

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  needs_shared<<<1, 32, k_too_many_bytes, hostile::stream_of(args)>>>(
      static_cast<float*>(args.out));
  static_cast<void>(cudaGetLastError());
  return WB_OK;
}

// ==== faults_after_return
// A fault that comes 20 ms after the call returned.
#include "hostile.cuh"

__global__ void wait_then_write_wild() {
  const long long begin = clock64();
  while (clock64() - begin < 20'000'000) {
  }
  *reinterpret_cast<volatile int*>(16) = 1;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int status = hostile::honest(plan, args);
  wait_then_write_wild<<<1, 1, 0, hostile::stream_of(args)>>>();
  return status;
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

// ==== floods_printf
// Prints far more from the device than its buffer holds, in its first calls: a drawn run has up to
// 4,000, which would take minutes.
#include "hostile.cuh"

__global__ void print_much() {
  for (int i = 0; i < 1000; ++i) printf("thread %d says much %d\n", threadIdx.x, i);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static int calls = 0;
  if (calls++ < 3) print_much<<<64, 64, 0, hostile::stream_of(args)>>>();
  return hostile::honest(plan, args);
}
