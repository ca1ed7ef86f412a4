// SPDX-License-Identifier: MIT
// Compiling one function body for more than the baseline instruction set: the body is a function
// marked WB_ALWAYS_INLINE, called from a plain wrapper and from one marked WB_TARGET_AVX2.
#pragma once

#define WB_ALWAYS_INLINE [[gnu::always_inline]] inline
#define WB_ALWAYS_INLINE_LAMBDA __attribute__((always_inline))

#if defined(__x86_64__)
#define WB_TARGET_AVX2 [[gnu::target("avx2")]]
#else
#define WB_TARGET_AVX2
#endif

namespace wb {

/// False on other architectures, whose baseline has vectors of its own.
inline bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

}  // namespace wb
