// SPDX-License-Identifier: MIT
// Textual header, no include guard: closes what simd_path_begin.hpp opened.
}  // namespace WB_SIMD_NAMESPACE

#if WB_SIMD_PATH >= 2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#undef WB_SIMD_NAMESPACE
#undef WB_SIMD_WIDTH
#undef WB_SIMD_PATH
