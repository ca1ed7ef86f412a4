// SPDX-License-Identifier: MIT
// mbarrier.cuh. Would be seen: a count that is not the initialised one, a parity the wrong way
// round, a wait that returns before the last arrival, an arrival that does not release.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm90/griddepcontrol.cuh"

namespace wb::testing::vocabulary {

namespace {

constexpr int k_answers = 14;

// One thread alone: what try_wait says before and after every arrival.
__global__ void ask_after_each_arrival(int* answers) {
  __shared__ alignas(8) uint64_t space[3];
  const uint32_t three = smem_address(&space[0]), one = smem_address(&space[1]);
  const uint32_t nothing = smem_address(&space[2]);
  mbarrier_init(three, 3);
  mbarrier_init(one, 1);
  mbarrier_init(nothing, 1);
  fence_mbarrier_init();
  int at = 0;
  const auto ask = [&](uint32_t barrier, uint32_t parity) {
    answers[at++] = mbarrier_try_wait_parity(barrier, parity) ? 1 : 0;
  };
  ask(three, 1);
  ask(three, 0);
  mbarrier_arrive(three);
  mbarrier_arrive(three);
  ask(three, 0);
  mbarrier_arrive(three);
  ask(three, 0);
  ask(three, 1);
  for (int i = 0; i < 3; ++i) mbarrier_arrive(three);
  ask(three, 1);
  ask(three, 0);
  mbarrier_arrive_expect_tx(one, 16);
  ask(one, 0);  // its bytes never come
  ask(one, 1);
  // The count is back at three, also in the third phase.
  mbarrier_arrive(three);
  mbarrier_arrive(three);
  ask(three, 0);
  mbarrier_arrive(three);
  ask(three, 0);
  mbarrier_wait_parity(three, 0);
  mbarrier_arrive_expect_tx(nothing, 0);
  ask(nothing, 0);
  mbarrier_arrive(nothing);
  ask(nothing, 1);
  ask(nothing, 0);
}

constexpr int k_threads = 128, k_phases = 200;

// All threads arrive in every phase; each then reads what another one wrote before it arrived. Two
// buffers: a thread that writes a buffer again has passed a phase that all reached after reading.
__global__ void pass_many_phases(int* wrong, int* late) {
  __shared__ alignas(8) uint64_t space;
  __shared__ int written[2][k_threads];
  const uint32_t barrier = smem_address(&space);
  const int thread = threadIdx.x;
  if (thread == 0) {
    mbarrier_init(barrier, k_threads);
    fence_mbarrier_init();
  }
  __syncthreads();
  for (int phase = 0; phase < k_phases; ++phase) {
    if ((thread + phase) % 41 == 0) __nanosleep(2000);
    written[phase & 1][thread] = phase * 1000 + thread;
    mbarrier_arrive(barrier);
    if (!await_phase(barrier, phase & 1, late)) return;
    for (int hop = 1; hop < k_threads; hop += 9) {
      const int other = (thread + hop) % k_threads;
      if (*static_cast<volatile int*>(&written[phase & 1][other]) != phase * 1000 + other) {
        atomicAdd(wrong, 1);
      }
    }
  }
}

}  // namespace

std::string mbarrier_counts_arrivals() {
  DeviceArray<int> answers(k_answers, 0xff);
  run("mbarrier_counts_arrivals", ask_after_each_arrival, 1, 1, 0, 1, answers.data());
  const std::vector<int> wanted = {1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0};
  return difference("answer", answers.host(), wanted, k_answers);
}

std::string mbarrier_orders_many_phases() {
  DeviceArray<int> wrong(1), late(1);
  run("mbarrier_orders_many_phases", pass_many_phases, 4, k_threads, 0, 1, wrong.data(),
      late.data());
  if (late.host()[0] != 0) return "a phase did not complete";
  return difference("stale values", wrong.host(), {0}, 1);
}

// griddepcontrol.cuh. Would be seen: a launch of dependents that launches none (the second kernel
// then starts when the first has ended), a wait that does not wait for the first one's memory.

namespace {

constexpr int k_blocks = 4, k_values = 8 * k_blocks * k_threads, k_calls = 20;

struct Shared {
  int started;           // calls of the second kernel that began
  int not_early, wrong;  // calls that did not begin early; values not those of the call
};

// Lets the second kernel start, waits until it has, and only then writes.
__global__ void __launch_bounds__(k_threads) write_late(int* values, Shared* shared, int call) {
  griddepcontrol_launch_dependents();
  const long long begin = clock64();
  while (*static_cast<volatile int*>(&shared->started) <= call) {
    if (clock64() - begin > k_patience_cycles) {
      if (threadIdx.x == 0) atomicAdd(&shared->not_early, 1);
      break;
    }
  }
  for (int i = 0; i < 50; ++i) __nanosleep(1000);
  for (int i = blockIdx.x * k_threads + threadIdx.x; i < k_values; i += k_blocks * k_threads) {
    values[i] = call * 100000 + i;
  }
}

__global__ void __launch_bounds__(k_threads)
    read_behind(const int* values, Shared* shared, int call) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    atomicAdd(&shared->started, 1);
    __threadfence();
  }
  prefetch_page(values);
  griddepcontrol_wait();
  for (int i = blockIdx.x * k_threads + threadIdx.x; i < k_values; i += k_blocks * k_threads) {
    if (*static_cast<const volatile int*>(values + i) != call * 100000 + i) {
      atomicAdd(&shared->wrong, 1);
    }
  }
}

}  // namespace

std::string early_start_waits_for_memory() {
  const DeviceArray<int> values(k_values, 0xff);
  const DeviceArray<Shared> shared(1);
  must(cudaDeviceSynchronize(), "early start");
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(k_blocks);
  config.blockDim = dim3(k_threads);
  config.stream = stream;
  const int* read = values.data();
  // Modules are loaded with their first launch, which would come too late inside a pair.
  cudaFuncAttributes loaded;
  must(cudaFuncGetAttributes(&loaded, read_behind), "early start");
  for (int call = 0; call < k_calls; ++call) {
    config.attrs = nullptr;
    config.numAttrs = 0;
    must(cudaLaunchKernelEx(&config, write_late, values.data(), shared.data(), call), "the first");
    config.attrs = &attribute;
    config.numAttrs = 1;
    must(cudaLaunchKernelEx(&config, read_behind, read, shared.data(), call), "the second");
    finish("early_start_waits_for_memory", stream);
  }
  must(cudaStreamDestroy(stream), "a stream");
  const Shared s = shared.host()[0];
  if (s.started != k_calls) return "the second kernel did not run";
  if (s.wrong != 0) return std::to_string(s.wrong) + " values were read before they were written";
  if (s.not_early != 0) return "the second kernel began when the first had ended";
  return {};
}

}  // namespace wb::testing::vocabulary
