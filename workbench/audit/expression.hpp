// SPDX-License-Identifier: MIT
// Arithmetic as reports write it ("2 x 16 x 8192", "17 MB / 0.183 ms", "Q (8192x4) + K (16x4)"),
// evaluated with units and with the uncertainty of the printed digits.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "audit/figure.hpp"

namespace wb::audit {

struct Expression {
  Interval value;
  Unit unit = Unit::none;
  int operators = 0;
  std::string text;
  bool divided = false;   ///< a quotient, which may be a factor
  bool summed = false;    ///< contains a sum or difference
  bool ranged = false;    ///< contains a range, which value spans
  std::size_t begin = 0;  ///< column in the line
};

/// The longest expression that ends at column `end` (usually of an "="). Nothing when there is none
/// with an operator, or when text before it cannot be read.
std::optional<Expression> expression_before(std::string_view plain, std::size_t end);

/// Converts a computed value to the unit of a printed one: a plain number may be bytes, FLOPs or
/// times, or a share for percent. Nothing when the units do not fit.
std::optional<Interval> in_unit(const Expression& computed, Unit printed);

}  // namespace wb::audit
