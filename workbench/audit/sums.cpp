// SPDX-License-Identifier: MIT
#include "audit/sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit/document.hpp"

namespace wb::audit {

bool adds_up(Unit unit) {
  return unit == Unit::none || unit == Unit::time || unit == Unit::bytes || unit == Unit::money ||
         unit == Unit::flops;
}

void add(Sum& sum, const Figure& figure) {
  sum.value += figure.value;
  sum.parts.push_back(figure.printed);
  const bool exact = figure.unit == Unit::none && figure.step == 1 && figure.scale == 1;
  if (!exact) sum.slack += figure.step / 2;
  sum.fine = sum.fine || figure.step < 1;
  sum.approximate = sum.approximate || figure.approximate;
}

bool is_total(std::string_view cell) {
  const std::string word = lower_of(cell);
  return word == "total" || word == "sum" || word.starts_with("total ") || word == "grand total" ||
         word == "overall" || word == "totals";
}

void judge_sum(int line, const Figure& printed, const Sum& sum, std::string_view what, Notes& notes,
               std::optional<std::string_view> doubt) {
  std::string parts = fmt::format("{}", fmt::join(sum.parts, " + "));
  if (sum.parts.size() > 12) {
    parts = fmt::format("{} + … ({} parts)", sum.parts.front(), sum.parts.size());
  }
  const double off = std::abs(printed.value - sum.value);
  const double exactly = printed.step * 0.01 + 1e-9 * std::abs(sum.value);
  const bool counts =
      printed.unit == Unit::none && printed.scale == 1 && printed.step == 1 && !sum.fine;
  const std::string formula = fmt::format(
      "{} = {}", parts, counts ? fmt::format("{:.0f}", sum.value) : show(sum.value, printed.unit));
  const Interval around{sum.value - sum.slack, sum.value + sum.slack};
  const bool binary = printed.binary_too && printed.result().meets({sum.value, sum.value});
  if (off <= std::max(counts ? exactly : printed.step * 1.001, exactly) || binary ||
      (printed.approximate && printed.result().meets(around))) {
    notes.held(line, formula + ", printed " + printed.printed);
    return;
  }
  const bool rounding = !counts && printed.result().meets(around);
  // "~109 MB" for parts that add up to 90 MB may include unlisted items.
  const bool vague = printed.approximate || sum.approximate;
  std::string why = "is not the sum of its parts";
  if (rounding) {
    why = "differs from its printed parts by more than one digit: only rounding could explain it";
  } else if (vague) {
    why += ", which are approximate";
  } else if (doubt && !doubt->empty()) {
    why += fmt::format("; {}", *doubt);
  }
  const bool sure = !rounding && !vague && !doubt;
  notes.add({.severity = sure ? Severity::contradiction : Severity::doubtful,
             .line = line,
             .printed = printed.printed,
             .computed = formula,
             .meaning = fmt::format("{} {}", what, why),
             .tolerance = counts ? "none: counts are exact" : tolerance_of(printed)});
}

}  // namespace wb::audit
