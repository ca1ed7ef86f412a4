// SPDX-License-Identifier: MIT
// Short names for problems without a name in their suite. The full text is only
// in the problem table; elsewhere a name that fits into a table cell is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wb::problem {

/// "B1_H8_S1x4096_D64_f32" for "B=1 Hq=8 Hkv=8 Sq=1 Skv=4096 D=64 f32 causal=none": equal sizes are
/// written once, defaults left out. Other text is returned unchanged.
std::string short_name(std::string_view text);

/// Elements of the output, B * Hq * Sq * Dv; nothing when the text is no problem.
std::optional<std::int64_t> output_elements(std::string_view text);

}  // namespace wb::problem
