// SPDX-License-Identifier: MIT
// CMakeLists.txt compiles this file at -O3 without sanitizers in every preset: slow loops here
// would give low peaks, and low peaks refuse honest kernels.
#include "worker/calibrate.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wb::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int k_windows = 12;  // the best of them counts
constexpr std::int64_t k_steps_per_window = 60'000;
constexpr const char* k_source = "calibrated at open";

/// Keeps a value whose computation would otherwise be optimized away.
template <typename Value>
void keep(const Value& value) {
  asm volatile("" : : "m"(value) : "memory");
}

/// A kernel runs `steps` steps and returns the number of its floating-point operations.
using FlopKernel = double (*)(std::int64_t steps);

#if defined(__x86_64__)

// Independent chains hide the latency of two units. The empty asm in each kernel hides from the
// compiler that all chains start equal, so that it does not merge them.
constexpr int k_chains = 12;

[[gnu::target("avx512f")]] double flops_avx512(std::int64_t steps) {
  __m512 sums[k_chains] = {};
  for (auto& sum : sums) asm volatile("" : "+v"(sum));
  const __m512 factor = _mm512_set1_ps(0.999f);
  for (std::int64_t i = 0; i < steps; ++i) {
    for (auto& sum : sums) sum = _mm512_fmadd_ps(sum, factor, factor);
  }
  for (const auto& sum : sums) keep(sum);
  return static_cast<double>(steps) * k_chains * 16 * 2;
}

[[gnu::target("avx512f,avx512bf16")]] double flops_avx512_bf16(std::int64_t steps) {
  __m512 sums[k_chains] = {};
  for (auto& sum : sums) asm volatile("" : "+v"(sum));
  const __m512bh factor = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.5f));
  for (std::int64_t i = 0; i < steps; ++i) {
    for (auto& sum : sums) sum = _mm512_dpbf16_ps(sum, factor, factor);
  }
  for (const auto& sum : sums) keep(sum);
  return static_cast<double>(steps) * k_chains * 32 * 2;
}

[[gnu::target("avx2,fma")]] double flops_avx2(std::int64_t steps) {
  __m256 sums[k_chains] = {};
  for (auto& sum : sums) asm volatile("" : "+x"(sum));
  const __m256 factor = _mm256_set1_ps(0.999f);
  for (std::int64_t i = 0; i < steps; ++i) {
    for (auto& sum : sums) sum = _mm256_fmadd_ps(sum, factor, factor);
  }
  for (const auto& sum : sums) keep(sum);
  return static_cast<double>(steps) * k_chains * 8 * 2;
}

double flops_sse(std::int64_t steps) {
  __m128 sums[k_chains] = {};
  for (auto& sum : sums) asm volatile("" : "+x"(sum));
  const __m128 factor = _mm_set1_ps(0.999f);
  for (std::int64_t i = 0; i < steps; ++i) {
    for (auto& sum : sums) sum = _mm_add_ps(_mm_mul_ps(sum, factor), factor);
  }
  for (const auto& sum : sums) keep(sum);
  return static_cast<double>(steps) * k_chains * 4 * 2;
}

FlopKernel f32_kernel() {
  if (__builtin_cpu_supports("avx512f")) return flops_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return flops_avx2;
  return flops_sse;
}

/// nullptr: the same as f32, to which such a CPU must convert.
FlopKernel bf16_kernel() {
  return __builtin_cpu_supports("avx512bf16") ? flops_avx512_bf16 : nullptr;
}

struct Cpuid {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};
Cpuid cpuid(unsigned leaf, unsigned part) {
  Cpuid r;
  asm volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx) : "a"(leaf), "c"(part));
  return r;
}

/// Leaf 7 of CPUID: the units that no kernel above uses.
bool has_amx_bf16() {
  return (cpuid(7, 0).edx >> 22 & 1u) != 0;
}
bool has_native_f16() {
  const bool avx512_fp16 = (cpuid(7, 0).edx >> 23 & 1u) != 0;
  const bool amx_fp16 = (cpuid(7, 1).eax >> 21 & 1u) != 0;
  return avx512_fp16 || amx_fp16;
}

#else

// Other instruction sets: their vector and matrix units differ too much for one portable loop, and
// a peak that is too low would refuse honest kernels. Unknown is the honest answer.
FlopKernel f32_kernel() {
  return nullptr;
}
FlopKernel bf16_kernel() {
  return nullptr;
}
bool has_amx_bf16() {
  return true;
}
bool has_native_f16() {
  return true;
}

#endif

/// The best window of `work(window) -> amount`, in amount per second.
template <typename Work>
double best_rate(const Work& work) {
  double best = 0;
  for (int window = 0; window < k_windows; ++window) {
    const auto begin = Clock::now();
    const double amount = work();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (seconds > 0) best = std::max(best, amount / seconds);
  }
  return best;
}

/// The sum over all CPUs of `rate()`, measured on all of them at once.
template <typename Rate>
double on_all_cpus(const std::vector<int>& cpus, const Rate& rate) {
  std::vector<double> rates(cpus.size(), 0.0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      threads.emplace_back([&, i] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(cpus[i]), &one);
        ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
        rates[i] = rate();
      });
    }
  }
  double sum = 0;
  for (const double one : rates) sum += one;
  return sum;
}

/// Reads a buffer of this size from end to end.
double read_once(const std::uint64_t* words, std::size_t size_bytes) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i < size_bytes / 8; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += words[i + lane];
  }
  keep(sums);
  return static_cast<double>(size_bytes);
}

double read_rate(std::size_t size_bytes) {
  const auto words = std::make_unique_for_overwrite<std::uint64_t[]>(size_bytes / 8);
  std::memset(words.get(), 1, size_bytes);
  return best_rate([&] { return read_once(words.get(), size_bytes); });
}

/// Twice each thread's share of the last-level cache, in bounds. Where the cache is bigger still,
/// the rate found is the cache's: too high, and so never a reason to refuse.
std::size_t sweep_bytes(const device::Device& device, std::size_t threads) {
  constexpr double k_low = 16u << 20, k_high = 64u << 20;
  const double cache = device.l3_bytes ? device.l3_bytes->value : k_high;
  const double wanted = 2 * cache / static_cast<double>(std::max<std::size_t>(threads, 1));
  return static_cast<std::size_t>(std::clamp(wanted, k_low, k_high)) / 64 * 64;
}

}  // namespace

void calibrate(device::Device& device, const std::vector<int>& cpus) {
  const auto measured = [&cpus](FlopKernel kernel) {
    return device::DeviceFact{
        on_all_cpus(
            cpus, [kernel] { return best_rate([kernel] { return kernel(k_steps_per_window); }); }),
        k_source};
  };
  if (const FlopKernel f32 = f32_kernel()) {
    device.f32_flops_per_s = measured(f32);
    if (!has_native_f16()) device.f16_flops_per_s = device.f32_flops_per_s;
    if (!has_amx_bf16()) {
      const FlopKernel bf16 = bf16_kernel();
      device.bf16_flops_per_s = bf16 != nullptr ? measured(bf16) : *device.f32_flops_per_s;
    }
  }
  const std::size_t size_bytes = sweep_bytes(device, cpus.size());
  device.memory_bytes_per_s = device::DeviceFact{
      on_all_cpus(cpus, [size_bytes] { return read_rate(size_bytes); }), k_source};
}

}  // namespace wb::worker
