// SPDX-License-Identifier: MIT
// The compiler flags that a manifest may use. Flags can run programs and read any file, so only
// whole words that match a closed list pass. Used by the toolchains.
#pragma once

#include <span>
#include <string_view>

namespace wb::variant {

/// For g++ and clang++, sorted. docs/guide/add_a_kernel.md lists them with the reasons.
std::span<const std::string_view> allowed_cpu_flags();
bool is_allowed_cpu_flag(std::string_view flag);

/// For nvcc, sorted; listed on the same page.
std::span<const std::string_view> allowed_cuda_flags();
bool is_allowed_cuda_flag(std::string_view flag);

/// "native", "generic" or an architecture word such as "x86-64-v3" or "znver4".
bool is_cpu_target(std::string_view target);

}  // namespace wb::variant
