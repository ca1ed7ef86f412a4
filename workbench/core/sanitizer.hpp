// SPDX-License-Identifier: MIT
// Whether this build runs under AddressSanitizer, which needs terabytes of address space and traces
// the process to find leaks. g++ and clang report it differently.
#pragma once

namespace wb {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool k_address_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool k_address_sanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool k_address_sanitizer = false;
#endif

}  // namespace wb
