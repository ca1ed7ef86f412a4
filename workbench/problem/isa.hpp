// SPDX-License-Identifier: MIT
// Compiling one function body for more than the baseline instruction set: the body is a function
// marked WB_ALWAYS_INLINE, called from a plain wrapper and from those marked WB_TARGET_AVX2 and
// WB_TARGET_AVX512. Whichever runs, the results are the same bits.
#pragma once

#define WB_ALWAYS_INLINE [[gnu::always_inline]] inline
#define WB_ALWAYS_INLINE_LAMBDA __attribute__((always_inline))

#if defined(__x86_64__)
#define WB_TARGET_AVX2 [[gnu::target("avx2")]]
#define WB_TARGET_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
#else
#define WB_TARGET_AVX2
#define WB_TARGET_AVX512
#endif

namespace wb::problem {

enum class Isa { plain, avx2, avx512 };

/// The widest that this host gains by; plain on other architectures, whose baseline has vectors of
/// its own. AVX-512 from the second generation on (Ice Lake, Zen 4): the first ones lower the clock
/// for a while after it, and the next thing on that CPU may be a timed call.
inline Isa widest_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") == 0) return Isa::plain;
  const bool has_512 =
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vbmi2") != 0;
  return has_512 ? Isa::avx512 : Isa::avx2;
#else
  return Isa::plain;
#endif
}

}  // namespace wb::problem
