// SPDX-License-Identifier: MIT
// Private to audit: compares a sum of printed parts with a printed total. Used by the checks of
// totals and of repeated figures.
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
  double slack = 0;          ///< the rounding that parts may hide
  bool fine = false;         ///< one part has decimals
  bool approximate = false;  ///< one part is approximate
};

/// True for units whose sum has the same unit.
bool adds_up(Unit unit);
void add(Sum& sum, const Figure& figure);
/// True for "total", "Totals", "Total GPU": the first cell of a row with sums.
bool is_total(std::string_view cell);
/// A difference that rounding of the parts may explain is doubtful, and so is any difference with a
/// `doubt`, the reason why the total may still be right. An empty doubt suppresses the finding.
/// `what` begins the sentence.
void judge_sum(int line, const Figure& printed, const Sum& sum, std::string_view what, Notes& notes,
               std::optional<std::string_view> doubt = std::nullopt);

}  // namespace wb::audit
