// SPDX-License-Identifier: MIT
#include "audit/sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit/document.hpp"

namespace wb::audit {

void add(Sum& sum, const Figure& figure) {
  sum.value += figure.value;
  sum.parts.push_back(figure.printed);
  const bool exact = figure.unit == Unit::none && figure.step == 1 && figure.scale == 1;
  if (!exact) sum.slack += figure.step / 2;
}

bool is_total(std::string_view cell) {
  const std::string word = lower_of(cell);
  return word == "total" || word == "sum" || word.starts_with("total ") || word == "grand total" ||
         word == "overall" || word == "totals";
}

void judge_sum(int line, const Figure& printed, const Sum& sum, std::string_view what,
               Notes& notes) {
  std::string parts = fmt::format("{}", fmt::join(sum.parts, " + "));
  if (sum.parts.size() > 12) {
    parts = fmt::format("{} + … ({} parts)", sum.parts.front(), sum.parts.size());
  }
  const std::string formula = fmt::format("{} = {}", parts, show(sum.value, printed.unit));
  const double off = std::abs(printed.value - sum.value);
  const double exactly = printed.step * 0.01 + 1e-9 * std::abs(sum.value);
  const bool counts = printed.unit == Unit::none && printed.scale == 1 && printed.step == 1;
  const Interval around{sum.value - sum.slack, sum.value + sum.slack};
  const bool binary = printed.binary_too && printed.result().meets({sum.value, sum.value});
  if (off <= std::max(counts ? exactly : printed.step * 1.001, exactly) || binary ||
      (printed.approximate && printed.result().meets(around))) {
    notes.held(line, formula + ", printed " + printed.printed);
    return;
  }
  const bool rounding = !counts && printed.result().meets(around);
  notes.add({.severity = rounding ? Severity::doubtful : Severity::contradiction,
             .line = line,
             .printed = printed.printed,
             .computed = formula,
             .meaning = rounding ? fmt::format("{} differs from its printed parts by more than one "
                                               "digit: only rounding could explain it",
                                               what)
                                 : fmt::format("{} is not the sum of its parts", what),
             .tolerance = counts ? "none: counts are exact" : tolerance_of(printed)});
}

}  // namespace wb::audit
