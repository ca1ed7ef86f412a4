// SPDX-License-Identifier: MIT
// Private to report: what pages call a problem that its suite gave no name. The full text stands
// once, in the problem table; everywhere else a name that fits into a table cell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wb::report {

/// "B1_H8_S1x4096_D64_f32" of "B=1 Hq=8 Hkv=8 Sq=1 Skv=4096 D=64 f32 causal=none": equal sizes are
/// said once, defaults left out. Text that is no problem's comes back as it is.
std::string short_name(std::string_view problem);

/// Elements of the output, B * Hq * Sq * Dv; nothing when the text is no problem's.
std::optional<std::int64_t> output_elements(std::string_view problem);

}  // namespace wb::report
