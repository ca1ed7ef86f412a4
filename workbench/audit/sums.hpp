// SPDX-License-Identifier: MIT
// Private to audit: a sum of printed parts and what it says of a printed total. Used by the checks
// of totals and of what is told several times.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/figure.hpp"
#include "audit/finding.hpp"

namespace wb::audit {

struct Sum {
  double value = 0;
  std::vector<std::string> parts;
  double slack = 0;          ///< what rounding the parts may have hidden
  bool fine = false;         ///< one of them has digits behind the point
  bool approximate = false;  ///< one of them is called so
};

/// Sums of such figures are of the same unit.
bool adds_up(Unit unit);
void add(Sum& sum, const Figure& figure);
/// "total", "Totals", "Total GPU": the first cell of a row that adds up those above it.
bool is_total(std::string_view cell);
/// A difference that only rounding of the parts explains is doubtful, and so is any where there is
/// a `doubt`: the reason why the total may be right for all that, or nothing to be said of it.
/// `what` begins the sentence.
void judge_sum(int line, const Figure& printed, const Sum& sum, std::string_view what, Notes& notes,
               std::optional<std::string_view> doubt = std::nullopt);

}  // namespace wb::audit
