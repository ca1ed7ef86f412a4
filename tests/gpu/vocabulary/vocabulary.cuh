// SPDX-License-Identifier: MIT
// What the .cu files of this folder share: memory, launches that do not hang the tests, comparison,
// and values that tell where they belong.
#pragma once

#include "gpu/vocabulary/vocabulary.hpp"
#include "sm80/mma.cuh"
#include "sm90/mbarrier.cuh"

#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace wb::testing::vocabulary {

using namespace wb::gpu;

// How long a thread waits for what never comes: about a tenth of a second.
inline constexpr long long k_patience_cycles = 200'000'000;

// mbarrier_wait_parity that ends. False, and `late` set: the phase did not complete; then every
// other wait gives up as well. The caller sees to it that the next phase cannot complete before all
// threads are back: the wrapper itself comes last, where it must return at once.
__device__ inline bool await_phase(uint32_t barrier, uint32_t parity, int* late) {
  const long long begin = clock64();
  while (!mbarrier_try_wait_parity(barrier, parity)) {
    if (*static_cast<volatile int*>(late) != 0 || clock64() - begin > k_patience_cycles) {
      atomicExch(late, 1);
      return false;
    }
  }
  mbarrier_wait_parity(barrier, parity);
  return true;
}

// 16 bits that stand for `index` alone (nearly), and are neither zero nor no number.
__host__ __device__ inline uint16_t word_of(uint32_t index) {
  uint32_t x = index * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  return uint16_t((x >> 16 & 0x3fffu) | 1u);
}

// A whole number from -range to range that stands for `index`.
inline float number_of(uint32_t index, int range) {
  return float(int((word_of(index) >> 1) % unsigned(2 * range + 1)) - range);
}

inline void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count, int byte = 0) : m_count(count) {
    must(cudaMalloc(&m_data, count * sizeof(T)), "device memory");
    must(cudaMemset(m_data, byte, count * sizeof(T)), "filling device memory");
  }
  explicit DeviceArray(const std::vector<T>& from) : m_count(from.size()) {
    must(cudaMalloc(&m_data, from.size() * sizeof(T)), "device memory");
    must(cudaMemcpy(m_data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice),
         "copying to the device");
  }
  ~DeviceArray() { cudaFree(m_data); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* data() const { return static_cast<T*>(m_data); }
  std::vector<T> host() const {
    std::vector<T> to(m_count);
    must(cudaMemcpy(to.data(), m_data, m_count * sizeof(T), cudaMemcpyDeviceToHost),
         "copying from the device");
    return to;
  }

 private:
  void* m_data = nullptr;
  std::size_t m_count;
};

// Waits for the stream. Nothing takes a device back from a kernel that hangs but the end of its
// process, so that is how such a test fails.
inline void finish(const char* name, cudaStream_t stream = nullptr) {
  must(cudaGetLastError(), name);
  const auto begin = std::chrono::steady_clock::now();
  cudaError_t state = cudaStreamQuery(stream);
  while (state == cudaErrorNotReady) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) {
      std::fprintf(stderr,
                   "FAILED: the kernel of %s did not end within 20 s: a barrier that never "
                   "completes. The remaining tests are not run.\n",
                   name);
      std::fflush(nullptr);
      std::_Exit(1);
    }
    state = cudaStreamQuery(stream);
  }
  cudaGetLastError();  // "not ready" was no failure
  must(state, name);
}

// Launches and waits; `ranks` blocks make a cluster.
template <typename... Parameters, typename... Arguments>
void run(const char* name, void (*kernel)(Parameters...), int blocks, int threads, int smem_bytes,
         int ranks, Arguments... arguments) {
  must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes), name);
  if (ranks > 8) {
    must(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), name);
  }
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(ranks), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = size_t(smem_bytes);
  config.attrs = &attribute;
  config.numAttrs = 1;
  must(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), name);
  finish(name);
}

// Empty, or the first value that is farther from what is wanted than `absolute` + `relative` of it,
// and how many are.
template <typename T>
std::string difference(const std::string& what, const std::vector<T>& got,
                       const std::vector<T>& wanted, std::size_t columns, double absolute = 0.0,
                       double relative = 0.0) {
  std::string first;
  std::size_t count = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double is = double(got[i]), should = double(wanted[i]);
    if (is == should || std::fabs(is - should) <= absolute + relative * std::fabs(should)) continue;
    if (count++ > 0) continue;
    first = what + ": row " + std::to_string(i / columns) + ", column " +
            std::to_string(i % columns) + " is " + std::to_string(is) + ", not " +
            std::to_string(should);
  }
  if (count > 0) first += "; " + std::to_string(count) + " of " + std::to_string(wanted.size());
  return first;
}

// Bits of a number that T holds exactly.
template <typename T>
uint16_t bits_of(float x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half_as_ushort(__float2half_rn(x));
  } else {
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
  }
}

template <typename T>
const char* name_of() {
  return std::is_same_v<T, __half> ? "f16" : "bf16";
}

}  // namespace wb::testing::vocabulary
