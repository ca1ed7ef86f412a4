// SPDX-License-Identifier: MIT
// Which compiler flags a manifest may ask for. Flags can run programs and read any file, so only
// whole words that match an entry of a closed list pass. Who calls: the toolchains.
#pragma once

#include <span>
#include <string_view>

namespace wb::variant {

/// For g++ and clang++, sorted. docs/guide/add_a_kernel.md gives the list with the reasons.
std::span<const std::string_view> allowed_cpu_flags();
bool is_allowed_cpu_flag(std::string_view flag);

/// For nvcc, sorted; the same page has the list.
std::span<const std::string_view> allowed_cuda_flags();
bool is_allowed_cuda_flag(std::string_view flag);

/// "native", "generic" or an architecture word such as "x86-64-v3" or "znver4".
bool is_cpu_target(std::string_view target);

}  // namespace wb::variant
