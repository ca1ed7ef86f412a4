// SPDX-License-Identifier: MIT
// Textual header, to be included once, inside the kernel's namespace: it compiles the kernel's own
// textual header simd_path.hpp for each path, in the namespaces path_portable, path_avx2 and
// path_avx512. What simd_path.hpp uses of the kernel is declared before.

// The order of these lines matters.
// clang-format off
#define WB_SIMD_PATH 1
#include "simd_path_begin.hpp"
#include "simd_path.hpp"
#include "simd_path_end.hpp"
#if WB_SIMD_AVX2
#define WB_SIMD_PATH 2
#include "simd_path_begin.hpp"
#include "simd_path.hpp"
#include "simd_path_end.hpp"
#endif
#if WB_SIMD_AVX512
#define WB_SIMD_PATH 3
#include "simd_path_begin.hpp"
#include "simd_path.hpp"
#include "simd_path_end.hpp"
#endif
// clang-format on
