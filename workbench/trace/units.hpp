// SPDX-License-Identifier: MIT
// Units and text helpers shared by tables of a profile: factors, and lower-casing.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/ascii.hpp"

namespace wb::trace {

inline constexpr double k_us_per_ms = 1e3, k_giga = 1e9;

/// Lower-cases ASCII letters.
inline std::string lower(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), ascii::lower);
  return low;
}

}  // namespace wb::trace
