// SPDX-License-Identifier: MIT
#include "audit/arithmetic_doubts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "audit/document.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

constexpr std::array<double, 8> k_thousands{
    1e3, 1e-3, 1e6, 1e-6, 1e-9, 1.0 / 1024, 1.0 / 1048576.0, 1.0 / 1073741824.0};

/// Whether a unit follows that was not read: "= 0.5 MB/token", "= 4 Gbit", or a character of
/// another script.
bool has_unread_unit(std::string_view rest) {
  if (rest.empty()) return false;
  if (rest[0] == '_') return true;
  std::size_t end = 0;
  while (end < rest.size() && ascii::is_alpha(rest[end])) ++end;
  if (end == 0) return false;
  const bool per = end + 1 < rest.size() && rest[end] == '/' && ascii::is_alpha(rest[end + 1]);
  constexpr std::string_view k_prefixes = "KMGTP", k_units = "BbFOHpt";
  const bool scaled = k_prefixes.find(rest[0]) != std::string_view::npos &&
                      (end == 1 || rest.substr(1).starts_with("iB") ||
                       (end <= 6 && k_units.find(rest[1]) != std::string_view::npos));
  return per || scaled;
}

/// Whether the expression may be something other than arithmetic: two runs ("oneDNN 919/915 = 1.53x
/// over …"), a share of another quantity ("conflicts = 7/8 = 2,236") or the name of a size ("512^2
/// = 7435"). A share in percent is always one.
bool may_be_name(const Expression& computed, Unit printed) {
  const std::string_view text = computed.text;
  if (text.find(' ') != std::string_view::npos || computed.unit != Unit::none) return false;
  const bool fraction = computed.divided && computed.operators == 1;
  const bool size = text.find_first_not_of("0123456789,x^") == std::string_view::npos;
  const bool power = computed.operators == 1 && text.find('^') != std::string_view::npos;
  return power || ((fraction || size) && (printed == Unit::none || printed == Unit::factor));
}

/// Whether the result equals the computed value in thousands, millions or billions, so that the
/// word for the scale may not have been read.
bool may_be_scaled(const Expression& computed, const Figure& printed, const Interval& value) {
  if (printed.unit != Unit::none) return false;
  return std::any_of(k_thousands.begin(), k_thousands.end(), [&](double scale) {
    return agrees(printed, computed, value * Interval{scale, scale});
  });
}

/// "1 x 900 = 810K": the area of a square of which only the side is written.
bool may_lack_factor(const Expression& computed, const Figure& printed) {
  if (computed.unit != Unit::none || computed.divided || computed.summed ||
      computed.operators != 1 || printed.scale == 1) {
    return false;
  }
  const std::vector<Figure> factors = figures_in(computed.text);
  return std::any_of(factors.begin(), factors.end(), [&](const Figure& factor) {
    return agrees(printed, computed, computed.value * Interval{factor.value, factor.value});
  });
}

/// "(5 + 730 + 913) * 1.2 = 2 TB": the operands come from lines above, where they have a prefix.
bool may_lack_prefix(const Expression& computed, const Figure& printed) {
  if (computed.unit != Unit::none) return false;
  static constexpr std::array<double, 8> k_scales{1e3,    1e6,       1e9,          1e12,
                                                  1024.0, 1048576.0, 1073741824.0, 1099511627776.0};
  const double unit = printed.unit == Unit::percent ? 100 : 1;
  return std::any_of(k_scales.begin(), k_scales.end(), [&](double scale) {
    return agrees(printed, computed, computed.value * Interval{unit * scale, unit * scale});
  });
}

/// "3M x $0.40 = $1.20": a price per million, where the expression does not divide.
bool may_be_price_per(const Expression& computed, const Figure& printed) {
  if (computed.unit != Unit::money || computed.divided) return false;
  return std::any_of(k_thousands.begin(), k_thousands.end(), [&](double scale) {
    return agrees(printed, computed, computed.value * Interval{scale, scale});
  });
}

/// "20 runs x $3 = $1,800": the result is for a month; the unit between the operands is not
/// written.
bool may_lack_calendar(const Expression& computed, const Figure& printed) {
  if (computed.unit == Unit::time || printed.unit == Unit::percent) return false;
  static constexpr std::array<double, 8> k_calendar{7, 12, 24, 30, 52, 60, 365, 3600};
  const double value = computed.value.middle();
  return std::any_of(k_calendar.begin(), k_calendar.end(), [&](double many) {
    return agrees(printed, computed, {value * many, value * many}) ||
           agrees(printed, computed, {value / many, value / many});
  });
}

/// Whether the result equals the computed value times the size of an element or the operations of a
/// step.
bool may_lack_size(const Expression& computed, const Figure& printed) {
  if (printed.unit != Unit::bytes && printed.unit != Unit::flops) return false;
  static constexpr std::array<double, 8> k_sizes{2, 0.5, 4, 0.25, 8, 0.125, 16, 12};
  const std::size_t tried = printed.unit == Unit::bytes ? k_sizes.size() : 2;
  return std::any_of(k_sizes.begin(), k_sizes.begin() + tried, [&](double size) {
    return agrees(printed, computed, computed.value * Interval{size, size});
  });
}

/// "100x80x40 = 2.7 MB": the size of a grid whose element size is not stated.
bool may_be_grid(const Expression& computed, const Figure& printed) {
  constexpr double k_largest = 8;  // bytes per element; from here on elements are records
  if (printed.unit != Unit::bytes || computed.unit != Unit::none || computed.divided ||
      computed.summed || printed.value < k_largest * computed.value.middle()) {
    return false;
  }
  static constexpr std::array<std::string_view, 8> k_sizes{"0.5", "1",  "2",  "4",
                                                           "8",   "12", "16", "1.5"};
  const std::string_view text = computed.text;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && (ascii::is_digit(text[end]) || text[end] == '.')) {
      ++end;
    }
    if (std::find(k_sizes.begin(), k_sizes.end(), text.substr(at, end - at)) != k_sizes.end()) {
      return false;
    }
    at = end + 1;
  }
  return true;
}

/// "2 + 10 = 27.9%": a share of an unnamed number. "30.7/115.5 = 73.4%": a decrease. "7.58/7.14 =
/// 6.2%": an increase.
bool may_be_change(const Expression& computed, const Figure& printed) {
  if (printed.unit != Unit::percent || computed.unit != Unit::none) return false;
  if (!computed.divided) return true;
  const Interval whole{1, 1}, percent{100, 100};
  const Interval share = computed.value;
  const auto inverse = divide(whole, share);
  std::vector<Interval> changes{whole - share, share - whole};
  if (inverse) changes.insert(changes.end(), {whole - *inverse, *inverse - whole});
  return std::any_of(changes.begin(), changes.end(), [&](const Interval& change) {
    return agrees(printed, computed, change * percent);
  });
}

/// Whether the expression clearly begins where it was read. Words right before it may change it
/// ("after 3 passes 4 x 16 = 60"). A colon, bracket, bar, verb or the beginning of the line makes
/// it safe.
bool is_opened(std::string_view plain, const Expression& computed) {
  static constexpr std::array<std::string_view, 8> k_verbs{"is",    "are",   "was",  "needs",
                                                           "takes", "holds", "uses", "gives"};
  const std::string before = trimmed(plain.substr(0, computed.begin));
  constexpr std::string_view k_opens = ":(|>`\"";
  if (before.empty() || k_opens.find(before.back()) != std::string_view::npos) return true;
  if (before.back() == '=') {
    // "53.7=1.01 / 55.2=1.10" are results of numbered items; in "bytes = 2 x 8 = 16" the left side
    // is a name.
    const std::string name = trimmed(before.substr(0, before.size() - 1));
    if (name.empty()) return true;
    const std::size_t word = name.find_last_of(" ,;:|(/") + 1;  // 0 where there is none
    return word < name.size() && ascii::is_alpha(name[word]);
  }
  return std::any_of(k_verbs.begin(), k_verbs.end(),
                     [&](auto verb) { return before.ends_with(" " + std::string(verb)); });
}

/// Whether operands and result are clearly one calculation: "2 x 8 bytes = 16 KB", "24 MB / 2 ms =
/// 12 GB/s", "2x x 1.5x = 3x", "4/80 = 5%". Plain numbers joined by a slash or a single plus may be
/// names of two items.
bool is_one_quantity(const Expression& computed, const Figure& printed) {
  switch (printed.unit) {
    case Unit::none:
      return computed.unit == Unit::none && !computed.divided &&
             (!computed.summed || computed.operators >= 2);
    case Unit::percent:
      return computed.unit == Unit::none && computed.divided;
    case Unit::factor:
      return computed.divided || (computed.unit == Unit::factor && !computed.summed);
    default:
      return computed.unit == printed.unit || computed.unit == Unit::none;
  }
}

}  // namespace

bool agrees(const Figure& printed, const Expression& computed, const Interval& value) {
  if (printed.is_range && computed.ranged) {
    // "1000 x 3-5 ms = 3,000-5,000 ms": the ends of a range are rounded.
    const bool within = printed.value >= value.low - printed.step &&
                        printed.high <= value.high + printed.step &&
                        printed.value <= value.middle() && printed.high >= value.middle();
    if (within) return true;
    return printed.result().meets({value.low, value.low}) &&
           printed.result(true).meets({value.high, value.high});
  }
  return Interval{printed.result().low, printed.result(true).high}.meets(value);
}

bool is_near(const Figure& printed, const Interval& value) {
  constexpr double k_near = 0.005;
  return std::abs(printed.value - value.middle()) <= k_near * std::abs(value.middle());
}

std::string_view doubt_of(std::string_view plain, const Expression& computed, const Figure& printed,
                          const Interval& value, std::string_view rest) {
  if (!is_opened(plain, computed)) {
    return "words stand before the expression, which may not have been read whole: not judged";
  }
  if (!is_one_quantity(computed, printed)) {
    return "the operands and the result have no unit in common and may be names: not judged";
  }
  // "$900 / 1,905,972,584 = $0.472 per million": the result's unit differs from the operands'.
  const bool per = rest.starts_with("per ") || rest.starts_with('/');
  const bool unread = per || (printed.unit == Unit::none && has_unread_unit(rest));
  if (unread || may_be_scaled(computed, printed, value)) {
    return "the unit behind the result was not read: not judged";
  }
  // "64x64 = 8 KB in FP16" counts elements whose size is stated in another place; a multiply-add is
  // two FLOPs.
  if (may_lack_prefix(computed, printed)) {
    return "the operands have no unit and may be told in another prefix: not judged";
  }
  if (may_lack_factor(computed, printed)) {
    return "it may be of a square that is told by its side: not judged";
  }
  if ((computed.unit == Unit::none && may_lack_size(computed, printed)) ||
      may_be_grid(computed, printed)) {
    return "the operands have no unit and may count elements: not judged";
  }
  if (may_be_price_per(computed, printed)) {
    return "the price may be for a thousand or a million of them: not judged";
  }
  if (may_lack_calendar(computed, printed)) {
    return "the operands may be of a day, a month or an hour: not judged";
  }
  // "actions 1-5 + 6-7 = 30": these are numbers of items, not values.
  if (computed.ranged && !printed.is_range) {
    return "the ranges may be numbers of things: not judged";
  }
  if (may_be_change(computed, printed)) {
    return "the percents may be a change, or of something told elsewhere: not judged";
  }
  // "34.6% / 6,030 = 86.9%": a list of figures, not a division.
  if (computed.unit == Unit::percent && computed.divided) {
    return "percents beside other figures may be a list: not judged";
  }
  if (printed.scale == 1 && may_be_name(computed, printed.unit)) {
    return "numbers without spaces may be a size, two results or a share: not judged";
  }
  return {};
}

bool is_unmistakable(const Expression& computed, const Figure& printed, std::string_view rest) {
  std::size_t word = 0;
  while (word < rest.size() && ascii::is_alpha(rest[word])) ++word;
  const std::string behind = trimmed(rest.substr(word));
  const bool closed =
      behind.empty() || behind[0] == '|' || behind[0] == ')' || behind == "." || behind == ";";
  if (!closed) return false;
  if (printed.unit == Unit::percent) return computed.operators == 1 || computed.summed;
  return computed.unit != Unit::none || computed.divided || !computed.summed;
}

}  // namespace wb::audit
