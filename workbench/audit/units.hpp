// SPDX-License-Identifier: MIT
// Private to audit: the recognized units, as data. Used to read and to print figures.
#pragma once

#include <span>
#include <string_view>

#include "audit/figure.hpp"

namespace wb::audit {

struct UnitWord {
  std::string_view word;
  Unit unit;
  double scale;             ///< to the base unit
  bool binary_too = false;  ///< may mean powers of 1000 or 1024
};
/// Longer words before shorter ones that they begin with.
std::span<const UnitWord> unit_words();

}  // namespace wb::audit
