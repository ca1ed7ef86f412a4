// SPDX-License-Identifier: MIT
// Private to audit: why a figure behind "=" may be right though the expression before it gives
// another one. Used by the check of arithmetic.
#pragma once

#include <string_view>

#include "audit/expression.hpp"
#include "audit/figure.hpp"

namespace wb::audit {

/// What the two ends of a printed figure say against a computed interval.
bool agrees(const Figure& printed, const Expression& computed, const Interval& value);
/// So near that figures may have been multiplied before they were rounded.
bool is_near(const Figure& printed, const Interval& value);
/// The reason why a figure that does not follow is not judged; empty for none. `value` in the
/// printed unit, `rest` behind the figure.
std::string_view doubt_of(std::string_view plain, const Expression& computed, const Figure& printed,
                          const Interval& value, std::string_view rest);
/// Nothing can be meant but the equation: it closes its line, cell or bracket with at most one word
/// behind it ("= 74K floats"), bare numbers are factors of one product, and a share is one part
/// over one whole. More words may change it ("= $0.47 per million", "= 58% of the raw bytes").
bool is_unmistakable(const Expression& computed, const Figure& printed, std::string_view rest);

}  // namespace wb::audit
