// SPDX-License-Identifier: MIT
// What all hostile CUDA variants share: a correct, slow attention for f32 and the exports of the
// ABI. Each part of the files beside this one adds exactly one fault; ../table.json says what the
// workbench must make of it. A compile of all in one file defines HOSTILE_TOGETHER, and has no ABI.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cassert>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "sdpa_abi.h"

struct wb_sdpa_plan {
  wb_sdpa_problem problem{};
  std::int64_t calls = 0;
};

namespace hostile {

constexpr int k_threads = 64;

struct Exact {
  __device__ float operator()(float x) const { return x; }
};

/// A thread a row, running softmax, O in memory: slow, so that what a cheat leaves out shows. Does
/// nothing where *skip is set. Read is how an input is seen.
template <class Read = Exact>
__global__ void attention(wb_sdpa_problem p, wb_sdpa_args a, const int* skip) {
  const std::int64_t number = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (number >= p.batch * p.heads_q * p.seq_q || (skip != nullptr && *skip != 0)) return;
  const Read read;
  const std::int64_t row = number % p.seq_q, h = number / p.seq_q % p.heads_q,
                     b = number / p.seq_q / p.heads_q, g = h / (p.heads_q / p.heads_kv);
  const auto* q = static_cast<const float*>(a.q) + b * p.q.batch + h * p.q.head + row * p.q.row;
  const auto* k = static_cast<const float*>(a.k) + b * p.k.batch + g * p.k.head;
  const auto* v = static_cast<const float*>(a.v) + b * p.v.batch + g * p.v.head;
  auto* out = static_cast<float*>(a.out) + b * p.out.batch + h * p.out.head + row * p.out.row;
  std::int64_t keys = p.seq_kv;
  if (p.causal == WB_CAUSAL_TOP_LEFT) keys = row + 1;
  if (p.causal == WB_CAUSAL_BOTTOM_RIGHT) keys = row + 1 + p.seq_kv - p.seq_q;
  if (keys > p.seq_kv) keys = p.seq_kv;
  float maximum = -INFINITY, sum = 0;
  for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] = 0;
  for (std::int64_t key = 0; key < keys; ++key) {
    float score = 0;
    for (std::int64_t d = 0; d < p.dim; ++d) score += read(q[d]) * read(k[key * p.k.row + d]);
    score *= static_cast<float>(p.scale);
    const float larger = fmaxf(maximum, score);
    const float alpha = expf(maximum - larger), weight = expf(score - larger);
    sum = sum * alpha + weight;
    maximum = larger;
    for (std::int64_t d = 0; d < p.dim_v; ++d)
      out[d] = out[d] * alpha + weight * read(v[key * p.v.row + d]);
  }
  for (std::int64_t d = 0; d < p.dim_v && keys > 0; ++d) out[d] /= sum;
  if (a.lse != nullptr) a.lse[number] = keys > 0 ? maximum + logf(sum) : -INFINITY;
}

inline cudaStream_t stream_of(const wb_sdpa_args& args) {
  return static_cast<cudaStream_t>(args.stream);
}

inline std::int64_t out_elements(const wb_sdpa_problem& p) {
  return p.batch * p.heads_q * p.seq_q * p.dim_v;
}

/// Of what was just launched.
inline int launched() {
  return cudaGetLastError() == cudaSuccess ? WB_OK : WB_FAILED;
}

template <class Read = Exact>
int honest_on(cudaStream_t stream, const wb_sdpa_problem& p, const wb_sdpa_args& args,
              const int* skip = nullptr) {
  const std::int64_t rows = p.batch * p.heads_q * p.seq_q;
  attention<Read>
      <<<unsigned((rows + k_threads - 1) / k_threads), k_threads, 0, stream>>>(p, args, skip);
  return launched();
}

inline int honest(const wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return honest_on(stream_of(args), plan.problem, args);
}

/// Device memory that nobody gives back: the process ends soon enough.
template <typename T>
T* device_memory(std::int64_t elements) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, std::size_t(elements) * sizeof(T)) != cudaSuccess) return nullptr;
  cudaMemset(memory, 0, std::size_t(elements) * sizeof(T));
  cudaDeviceSynchronize();
  return static_cast<T*>(memory);
}

/// All that is left, in ever smaller pieces; none of it is touched.
inline void take_all_memory() {
  for (std::size_t bytes = std::size_t(1) << 40; bytes >= 256; bytes /= 2) {
    void* memory = nullptr;
    while (cudaMalloc(&memory, bytes) == cudaSuccess) {
    }
  }
  static_cast<void>(cudaGetLastError());
}

/// A context that met this is lost.
__global__ void write_wild() {
  *reinterpret_cast<volatile int*>(16) = 1;
}

/// What takes the place of the driver's function that tells the time between two events (x86-64):
/// what that would have said is told to `told`, whose answer is said instead.
struct ClockPatch {
  unsigned char* code = nullptr;
  unsigned char original[12] = {}, jump[12] = {};
  float (*told)(float) = nullptr;
};
inline ClockPatch& clock_patch() {
  static ClockPatch patch;
  return patch;
}

/// Asks the function itself, which for that has its own first bytes back.
inline int say_instead(float* milliseconds, void* begin, void* end) {
  ClockPatch& patch = clock_patch();
  std::memcpy(patch.code, patch.original, sizeof patch.original);
  const int status =
      reinterpret_cast<int (*)(float*, void*, void*)>(patch.code)(milliseconds, begin, end);
  std::memcpy(patch.code, patch.jump, sizeof patch.jump);
  if (status == 0) *milliseconds = patch.told(*milliseconds);
  return status;
}

/// mov rax, say_instead; jmp rax.
inline void patch_clock(float (*told)(float)) {
  ClockPatch& patch = clock_patch();
  if (patch.code != nullptr) return;
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto* code = static_cast<unsigned char*>(driver ? dlsym(driver, "cuEventElapsedTime") : nullptr);
  if (code == nullptr) return;
  const auto page = reinterpret_cast<std::uintptr_t>(code) & ~std::uintptr_t{4095};
  if (mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return;
  const unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  std::memcpy(patch.jump, jump, sizeof jump);
  const auto target = reinterpret_cast<std::uintptr_t>(&say_instead);
  std::memcpy(patch.jump + 2, &target, sizeof target);
  std::memcpy(patch.original, code, sizeof patch.original);
  patch.told = told;
  patch.code = code;
  std::memcpy(code, patch.jump, sizeof patch.jump);
}

}  // namespace hostile

#ifndef HOSTILE_TOGETHER
/// The fault: every file defines it.
static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args);
/// What a file adds to the making and the end of a plan, where it says so.
static void plan_made(wb_sdpa_plan& plan);
static void plan_ends(wb_sdpa_plan& plan);
#ifndef HOSTILE_OWN_PLAN_MADE
static void plan_made(wb_sdpa_plan&) {}
#endif
#ifndef HOSTILE_OWN_PLAN_ENDS
static void plan_ends(wb_sdpa_plan&) {}
#endif

extern "C" {
WB_SDPA_EXPORT int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {
  *plan = new wb_sdpa_plan{*problem};
  plan_made(**plan);
  return WB_OK;
}
WB_SDPA_EXPORT size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan*) {
  return 0;
}
WB_SDPA_EXPORT int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  ++plan->calls;
  return forward(*plan, *args);
}
WB_SDPA_EXPORT void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  plan_ends(*plan);
  delete plan;
}
WB_SDPA_EXPORT const char* wb_sdpa_last_error(void) {
  return "the hostile variant says so";
}
WB_SDPA_EXPORT const char* wb_sdpa_build_id(void) {
  return WB_BUILD_ID;
}
}
#endif
