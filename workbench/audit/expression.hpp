// SPDX-License-Identifier: MIT
// Arithmetic as reports write it ("2 x 16 x 8192", "17 MB / 0.183 ms", "Q (8192x4) + K (16x4)"),
// evaluated with units and with what the printed digits leave open.
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
  bool summed = false;    ///< a sum or a difference took part
  bool ranged = false;    ///< a range took part: value spans it
  std::size_t begin = 0;  ///< column of the line
};

/// The longest expression that ends at column `end` (usually of an "="). Nothing when there is none
/// with an operator, or when it is the tail of something that cannot be read.
std::optional<Expression> expression_before(std::string_view plain, std::size_t end);

/// What a computed value is in the unit of a printed one: a plain number serves as bytes, FLOPs or
/// times, and as a share for percent. Nothing where the units do not fit.
std::optional<Interval> in_unit(const Expression& computed, Unit printed);

}  // namespace wb::audit
