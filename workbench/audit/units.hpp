// SPDX-License-Identifier: MIT
// Private to audit: the units that are read, as data. Used to read figures and to print them.
#pragma once

#include <span>
#include <string_view>

#include "audit/figure.hpp"

namespace wb::audit {

struct UnitWord {
  std::string_view word;
  Unit unit;
  double scale;             ///< to the base unit
  bool binary_too = false;  ///< powers of 1000 and of 1024 are both meant
};
/// Longer words before the shorter ones that they begin with.
std::span<const UnitWord> unit_words();

}  // namespace wb::audit
