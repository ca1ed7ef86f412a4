// SPDX-License-Identifier: MIT
// Compiles one function body for several instruction sets: the body is marked WB_ALWAYS_INLINE and
// called from a plain wrapper and from wrappers marked WB_TARGET_AVX2 and WB_TARGET_AVX512. All
// give the same bits.
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

/// The widest instruction set that pays off on this host; plain on other architectures, whose
/// baseline already has vectors. AVX-512 only from its second generation on (Ice Lake, Zen 4),
/// since the first one lowers the clock for a while and could slow a timed call that follows.
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
