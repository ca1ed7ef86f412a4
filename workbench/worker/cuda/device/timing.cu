// SPDX-License-Identifier: MIT
// Kernels that the worker's stopwatch queues around timed calls: a gate, a delay of known length,
// and reads that displace the L2 cache.
#include <cstdint>

#include "worker/cuda/device/params.hpp"

namespace wb::worker::cuda::device {
namespace {

__device__ std::uint64_t now_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

}  // namespace

extern "C" __global__ void wb_wait(const WaitParams p) {
  const std::uint64_t begin = now_ns();
  while (*p.flag < p.ticket) {
    if (now_ns() - begin >= p.limit_ns) {
      *p.lapsed = p.ticket;
      return;
    }
    __nanosleep(200);
  }
}

extern "C" __global__ void wb_spin(const SpinParams p) {
  const std::uint64_t begin = now_ns();
  while (now_ns() - begin < p.ns) {
  }
}

extern "C" __global__ void __launch_bounds__(k_scan_threads) wb_read_through(const ReadParams p) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  std::uint32_t sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.words;
       i += step) {
    sum |= p.from[i];
  }
  if (sum == 1) *p.sum = sum;  // so that the reads are not optimized away
}

}  // namespace wb::worker::cuda::device
