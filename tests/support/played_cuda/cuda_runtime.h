// SPDX-License-Identifier: MIT
// A played CUDA runtime: a kernel's source, compiled as C++ with this folder in the place of the
// toolkit's headers, runs on the CPU, one fiber a thread and one block after the other. It has what
// kernels of plain CUDA C++ use: barriers of a block and of a warp, xor shuffles of a whole warp,
// one dynamic array of shared memory, and copies that land when they are waited for (cp_async.cuh).
// What a GPU would leave undefined is an error of the launch: a barrier that some threads never
// reach, a write behind the shared memory asked for, a launch beyond the limits. Included by the
// kernels that tests/unit/variant/played_cuda_test.cpp compiles, in one file only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>

#include "fibers.h"

#define __global__
#define __device__
#define __host__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

using std::max;
using std::min;

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorLaunchFailure };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization };
using cudaStream_t = void*;

struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

namespace played {

constexpr std::size_t k_most_shared = 99 * 1024;  // of a block, where a GPU of sm_80 on has least
constexpr std::size_t k_shared_without_asking = 48 * 1024;
constexpr std::size_t k_guard = 4096;

inline std::map<void*, std::size_t> asked_for;  // by kernel: what was asked for last

}  // namespace played

/// The one dynamic array of shared memory, by the name that kernels declare it with.
__align__(16) inline float scalar_smem[(played::k_most_shared + played::k_guard) / sizeof(float)];

namespace played {

/// Each block finds NaN in all shared memory, and more of it behind what it asked for.
inline bool run_block(int threads, std::size_t shared_bytes, const std::function<void()>& body) {
  std::memset(scalar_smem, 0xff, sizeof scalar_smem);
  if (!block.run(threads, body)) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(scalar_smem);
  const bool intact = std::all_of(bytes + shared_bytes, bytes + sizeof scalar_smem,
                                  [](unsigned char byte) { return byte == 0xff; });
  if (!intact) fault = "a block wrote behind its shared memory";
  return intact;
}

}  // namespace played

inline const char* cudaGetErrorString(cudaError_t) {
  return played::fault;
}
inline const char* cudaGetErrorName(cudaError_t) {
  return "played";
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 4;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute, int bytes) {
  played::fault = "more shared memory than a block may have";
  if (static_cast<std::size_t>(bytes) > played::k_most_shared) return cudaErrorInvalidValue;
  played::asked_for[reinterpret_cast<void*>(kernel)] = static_cast<std::size_t>(bytes);
  return cudaSuccess;
}

/// One, so that persistent blocks have more than one tile each.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int, std::size_t) {
  *blocks = 1;
  return cudaSuccess;
}

template <class... Params>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Params...),
                               Params... params) {
  const unsigned threads = config->blockDim.x;
  const auto asked = played::asked_for.find(reinterpret_cast<void*>(kernel));
  const std::size_t allowed =
      asked == played::asked_for.end() ? played::k_shared_without_asking : asked->second;
  played::fault = "a launch beyond the limits of a grid or block";
  if (config->gridDim.x < 1 || config->gridDim.x > 0x7fffffffu || threads < 1 || threads > 1024 ||
      threads % played::k_warp != 0 || config->dynamicSmemBytes > allowed) {
    return cudaErrorInvalidValue;
  }
  gridDim = config->gridDim;
  for (unsigned i = 0; i < config->gridDim.x; ++i) {
    blockIdx = dim3(i);
    const bool fine = played::run_block(static_cast<int>(threads), config->dynamicSmemBytes,
                                        [&] { kernel(params...); });
    if (!fine) return cudaErrorLaunchFailure;
  }
  return cudaSuccess;
}

inline void __syncthreads() {
  played::block.sync_block();
}
inline float __shfl_xor_sync(unsigned, float value, int lanes) {
  return played::block.shuffle_xor(value, lanes);
}
inline int __syncthreads_or(int value) {
  return played::block.sync_block_or(value != 0);
}
inline void __syncwarp() {
  played::block.sync_warp();
}
inline void __threadfence() {}
inline unsigned atomicAdd(unsigned* at, unsigned value) {
  *at += value;
  return *at - value;
}
inline std::size_t __cvta_generic_to_shared(const void* pointer) {
  return static_cast<std::size_t>(static_cast<const char*>(pointer) -
                                  reinterpret_cast<const char*>(scalar_smem));
}
