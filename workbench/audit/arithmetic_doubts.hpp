// SPDX-License-Identifier: MIT
// Private to audit: why a figure after "=" may be right although the expression before it gives
// another value. Used by the check of arithmetic.
#pragma once

#include <string_view>

#include "audit/expression.hpp"
#include "audit/figure.hpp"

namespace wb::audit {

/// True when the printed figure, with both ends, agrees with a computed interval.
bool agrees(const Figure& printed, const Expression& computed, const Interval& value);
/// True when they are so close that figures may have been multiplied before rounding.
bool is_near(const Figure& printed, const Interval& value);
/// Why a figure that does not follow is not judged; empty for none. `value` is in the printed unit;
/// `rest` is the text after the figure.
std::string_view doubt_of(std::string_view plain, const Expression& computed, const Figure& printed,
                          const Interval& value, std::string_view rest);
/// True when the text can only be an equation: at most one word follows before the end of line,
/// cell or bracket ("= 74K floats"), bare numbers are factors of one product, and a share is one
/// part over one whole. More words may change the meaning ("= $0.47 per million", "= 58% of the raw
/// bytes").
bool is_unmistakable(const Expression& computed, const Figure& printed, std::string_view rest);

}  // namespace wb::audit
