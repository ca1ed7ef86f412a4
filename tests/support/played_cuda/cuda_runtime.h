// SPDX-License-Identifier: MIT
// A played CUDA runtime: a kernel's source, compiled as C++ with this folder in the place of the
// toolkit's headers, runs on the CPU, one fiber a thread and one block after the other. It has what
// kernels of plain CUDA C++ use: barriers of a block and of a warp, xor shuffles of a whole warp,
// one dynamic array of shared memory, and copies that land when they are waited for (cp_async.cuh).
// What a GPU would leave undefined is an error of the launch: a barrier that some threads never
// reach, a write behind the shared memory asked for, a launch beyond the limits. Included by the
// kernels that tests/unit/variant/played_cuda_test.cpp compiles, in one file only.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

using std::max;
using std::min;

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  explicit dim3(unsigned of_x, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
};

inline dim3 threadIdx, blockIdx, gridDim;  // of the fiber that runs

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
constexpr std::size_t k_stack = 64 * 1024;
constexpr int k_warp = 32;

inline const char* fault = "";
inline std::map<void*, std::size_t> asked_for;  // by kernel: what was asked for last

}  // namespace played

/// The one dynamic array of shared memory, by the name that kernels declare it with.
__align__(16) inline float scalar_smem[(played::k_most_shared + played::k_guard) / sizeof(float)];

namespace played {

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  dim3 index;
  bool done = false;
  long waits_for = 0;  // barriers of the block; of the warp where in_warp
  bool in_warp = false;
};

/// A block's threads. Between two barriers they run one after the other, from the first or from the
/// last, in turns: code that needs a barrier which is not there meets both orders.
class Block {
 public:
  bool run(int threads, const std::function<void()>& body);
  void sync_block() { wait(false); }
  void sync_warp() { wait(true); }
  bool sync_block_or(bool value);
  float shuffle_xor(float value, int lanes);

 private:
  struct Warp {
    long passed = 0;
    float values[2][k_warp];  // by turns, so that one barrier a shuffle is enough
  };
  void wait(bool in_warp);
  bool may_run(const Fiber& fiber) const;
  bool open_barriers();
  static void enter();

  std::vector<Fiber> m_fibers;
  std::vector<Warp> m_warps;
  std::size_t m_current = 0;
  long m_passed = 0;
  bool m_any[2] = {};  // by turns, as a warp's values
  ucontext_t m_scheduler;
  const std::function<void()>* m_body = nullptr;
};

inline Block block;

inline void Block::enter() {
  (*block.m_body)();
  block.m_fibers[block.m_current].done = true;
}

inline void Block::wait(bool in_warp) {
  Fiber& fiber = m_fibers[m_current];
  fiber.in_warp = in_warp;
  fiber.waits_for = (in_warp ? m_warps[m_current / k_warp].passed : m_passed) + 1;
  swapcontext(&fiber.context, &m_scheduler);
}

inline float Block::shuffle_xor(float value, int lanes) {
  Warp& warp = m_warps[m_current / k_warp];
  const std::size_t lane = m_current % k_warp;
  float(&values)[k_warp] = warp.values[warp.passed % 2];
  values[lane] = value;
  wait(true);
  return values[lane ^ static_cast<std::size_t>(lanes)];
}

inline bool Block::sync_block_or(bool value) {
  bool& any = m_any[m_passed % 2];
  any = any || value;
  wait(false);
  return any;
}

inline bool Block::may_run(const Fiber& fiber) const {
  const std::size_t warp = static_cast<std::size_t>(&fiber - m_fibers.data()) / k_warp;
  return !fiber.done && fiber.waits_for <= (fiber.in_warp ? m_warps[warp].passed : m_passed);
}

/// Opens every barrier that all of its threads wait at; false when there is none.
inline bool Block::open_barriers() {
  const auto all_wait = [this](std::size_t from, std::size_t to, bool in_warp) {
    for (std::size_t i = from; i < to; ++i) {
      if (m_fibers[i].done || m_fibers[i].in_warp != in_warp) return false;
    }
    return true;
  };
  if (all_wait(0, m_fibers.size(), false)) {
    ++m_passed;
    m_any[m_passed % 2] = false;
    return true;
  }
  bool opened = false;
  for (std::size_t w = 0; w < m_warps.size(); ++w) {
    if (!all_wait(w * k_warp, (w + 1) * k_warp, true)) continue;
    ++m_warps[w].passed;
    opened = true;
  }
  return opened;
}

inline bool Block::run(int threads, const std::function<void()>& body) {
  m_body = &body;
  m_passed = 0;
  m_any[0] = false;
  m_fibers.resize(static_cast<std::size_t>(threads));
  m_warps.assign(m_fibers.size() / k_warp, {});
  for (std::size_t i = 0; i < m_fibers.size(); ++i) {
    Fiber& fiber = m_fibers[i];
    if (!fiber.stack) fiber.stack = std::make_unique<char[]>(k_stack);
    fiber.index = dim3(static_cast<unsigned>(i));
    fiber.done = fiber.in_warp = false;
    fiber.waits_for = 0;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = k_stack;
    fiber.context.uc_link = &m_scheduler;
    makecontext(&fiber.context, &Block::enter, 0);
  }
  for (bool backwards = false;; backwards = !backwards) {
    bool all_done = true;
    for (std::size_t n = 0; n < m_fibers.size(); ++n) {
      m_current = backwards ? m_fibers.size() - 1 - n : n;
      Fiber& fiber = m_fibers[m_current];
      threadIdx = fiber.index;
      if (may_run(fiber)) swapcontext(&m_scheduler, &fiber.context);
      all_done = all_done && fiber.done;
    }
    if (all_done) return true;
    if (open_barriers()) continue;
    fault = "threads wait at a barrier that others never reach";
    return false;
  }
}

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
