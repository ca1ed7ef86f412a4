// SPDX-License-Identifier: MIT
// Which vector instructions a CPU kernel uses, decided when the kernel is loaded, not when it is
// compiled. A kernel that wants this includes this header, then simd_paths.hpp, which compiles the
// kernel's own simd_path.hpp once for each path, and calls the path chosen by WB_SIMD_CALL.
#pragma once

#include <cstdio>

#include "support.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define WB_SIMD_X86 1
#include <cpuid.h>
#include <immintrin.h>
#else
#define WB_SIMD_X86 0
#endif

#ifndef SIMD
#error "SIMD, 0 for the widest, 1 portable, 2 AVX2, 3 AVX-512, comes from the configuration"
#endif

// Whether a file compiles a path: the one that its SIMD asks for, and what a CPU that lacks it
// falls back to. The portable path always is.
#define WB_SIMD_AVX2 (WB_SIMD_X86 && SIMD != 1)
#define WB_SIMD_AVX512 (WB_SIMD_X86 && (SIMD == 0 || SIMD == 3))

// WB_SIMD_CALL(simd, run(x)): returns what run(x) of that path returns, from the function that it
// stands in, inside the kernel's namespace. Without x86, or with SIMD=1, there is one path.
#if WB_SIMD_AVX512
#define WB_SIMD_CALL_AVX512(simd, ...) \
  if ((simd) == wb_cpu::Simd::avx512) return path_avx512::__VA_ARGS__
#else
#define WB_SIMD_CALL_AVX512(simd, ...) static_cast<void>(simd)
#endif
#if WB_SIMD_AVX2
#define WB_SIMD_CALL_AVX2(simd, ...) \
  if ((simd) == wb_cpu::Simd::avx2) return path_avx2::__VA_ARGS__
#else
#define WB_SIMD_CALL_AVX2(simd, ...) static_cast<void>(simd)
#endif
#define WB_SIMD_CALL(simd, ...)           \
  WB_SIMD_CALL_AVX512(simd, __VA_ARGS__); \
  WB_SIMD_CALL_AVX2(simd, __VA_ARGS__);   \
  return path_portable::__VA_ARGS__

namespace wb_cpu {

/// The values of the tunable parameter SIMD; 0 there means the widest that this CPU has.
enum class Simd { portable = 1, avx2 = 2, avx512 = 3 };

inline const char* simd_name(Simd simd) {
  return simd == Simd::avx512 ? "AVX-512" : simd == Simd::avx2 ? "AVX2" : "portable";
}

inline Simd widest_simd() {
#if WB_SIMD_X86
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  __builtin_cpu_init();  // these answers include whether the system saves the registers
  if (has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    const bool has_512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return has_512 ? Simd::avx512 : Simd::avx2;
  }
#endif
  return Simd::portable;
}

/// The path for a wish of 0 to 3. A wish that this CPU cannot grant gets the widest path it has,
/// and says so on standard error: a figure measured there is not the figure that was asked for.
inline Simd choose_simd(int wish, const char* kernel) {
  const Simd widest = widest_simd();
  if (wish <= 0 || wish == static_cast<int>(widest)) return widest;
  if (wish < static_cast<int>(widest)) return static_cast<Simd>(wish);
  std::fprintf(stderr, "%s: SIMD=%d asks for %s, which this CPU lacks: the %s path runs\n", kernel,
               wish, simd_name(static_cast<Simd>(wish)), simd_name(widest));
  return widest;
}

/// The path of the kernel that includes this, chosen once a process.
inline Simd chosen_simd(const char* kernel) {
  static const Simd k_simd = choose_simd(SIMD, kernel);
  return k_simd;
}

/// A query row of one batch element.
struct QueryRow {
  std::int64_t h, i;
};

/// The query rows of all heads that share a key/value head, in one order: packed row r is query
/// r / group of head hkv * group + r % group. Neighbours see (almost) equally many keys.
struct PackedRows {
  std::int64_t b, hkv, group;
  [[nodiscard]] QueryRow at(std::int64_t r) const { return {hkv * group + r % group, r / group}; }
};

/// Floats that a kernel may read as rows, `stride` apart.
struct FloatRows {
  const float* at;
  std::int64_t stride;
};

inline constexpr float k_least_score = std::numeric_limits<float>::lowest();
inline constexpr std::uint32_t k_bits_of_minus_infinity = 0xff800000u;
inline constexpr float k_log2_e = 1.44269504088896341f, k_ln_2 = 0.693147180559945309f;

}  // namespace wb_cpu
