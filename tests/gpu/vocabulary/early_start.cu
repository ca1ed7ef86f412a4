// SPDX-License-Identifier: MIT
// griddepcontrol.cuh. Would be seen: a launch of dependents that launches none (the second kernel
// then starts when the first has ended), a wait that does not wait for the first one's memory.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm90/griddepcontrol.cuh"

namespace wb::testing::vocabulary {

namespace {

constexpr int k_blocks = 4, k_threads = 128, k_values = 8 * k_blocks * k_threads, k_calls = 20;

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
