// SPDX-License-Identifier: MIT
// Which vector instructions a CPU kernel uses, decided when the kernel is loaded, not when it is
// compiled. A kernel that wants this includes this header once, then its own textual header once
// for each path, between simd_path_begin.hpp and simd_path_end.hpp, and calls the path chosen.
#pragma once

#include <cstdio>

#include "cpu_support.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define WB_SIMD_X86 1
#include <cpuid.h>
#include <immintrin.h>
#else
#define WB_SIMD_X86 0
#endif

// Whether a file compiles a path: the one that its SIMD asks for, and what a CPU that lacks it
// falls back to. The portable path always is.
#define WB_SIMD_AVX2 (WB_SIMD_X86 && SIMD != 1)
#define WB_SIMD_AVX512 (WB_SIMD_X86 && (SIMD == 0 || SIMD == 3))

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
inline constexpr float k_log2_e = 1.44269504088896341f, k_ln_2 = 0.693147180559945309f;

}  // namespace wb_cpu
