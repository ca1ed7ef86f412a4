// SPDX-License-Identifier: MIT
// Checks arithmetic that is written out: "a x b = c", an intensity, a price, a share. The text
// around an expression decides whether it was read completely. If it may not have been, a figure
// that does not follow is not reported as its result.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "audit/arithmetic_doubts.hpp"
#include "audit/checks.hpp"
#include "audit/expression.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

/// Reads a scale word as part of the number: "17.2 billion".
void take_word(std::string_view rest, Figure& printed) {
  struct Scale {
    std::string_view word;
    double scale;
  };
  static constexpr std::array<Scale, 5> k_scales{{{"thousand", 1e3},
                                                  {"million", 1e6},
                                                  {"billion", 1e9},
                                                  {"trillion", 1e12},
                                                  {"quadrillion", 1e15}}};
  for (const Scale& one : k_scales) {
    if (!rest.starts_with(one.word)) continue;
    printed.value *= one.scale, printed.high *= one.scale, printed.step *= one.scale;
    printed.scale *= one.scale;
    printed.printed += " " + std::string(one.word);
  }
}

/// Whether points separate thousands: "1.500" in a document whose other figures have a decimal
/// comma.
bool has_point_of_thousands(std::string_view text) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  for (std::size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at + 1)) {
    if (at > 0 && is_digit(at - 1) && is_digit(at + 1) && is_digit(at + 2) && is_digit(at + 3) &&
        !is_digit(at + 4)) {
      return true;
    }
  }
  return false;
}

/// The value with enough digits to differ from the printed figure.
std::string shown(const Interval& value, const Figure& printed) {
  const double middle = value.middle();
  if (value.low == value.high && printed.unit == Unit::none && printed.scale == 1 &&
      show(middle) == show(printed.value)) {
    return fmt::format("{:.9g}", middle);
  }
  return show(value, printed.unit);
}

/// The line, continued with the first words of the next line if a sentence runs on: "= 7.1", "ms a
/// batch".
std::string read_on(const Document& document, std::size_t index) {
  const Line& line = document.lines[index];
  if (line.fenced || line.in_table || index + 1 == document.lines.size()) return line.plain;
  const Line& next = document.lines[index + 1];
  const std::string more = trimmed(next.plain);
  if (next.fenced || next.in_table || next.item || more.empty()) return line.plain;
  // Only a unit or a word in lower case continues the sentence; a capital may begin another
  // statement.
  const auto figure = figure_at("1 " + more, 0);
  const bool goes_on = ascii::is_lower(more[0]) ||
                       more.substr(0, more.find(' ')).find('/') != std::string::npos ||
                       (figure && figure->unit != Unit::none);
  return goes_on ? line.plain + " " + more.substr(0, more.find_first_of(".:;")) : line.plain;
}

void check_equals(const Line& line, const std::string& plain, std::size_t equals, bool has_commas,
                  Notes& notes) {
  const char before = equals > 0 ? plain[equals - 1] : ' ';
  const char after = equals + 1 < plain.size() ? plain[equals + 1] : ' ';
  constexpr std::string_view k_operators = "=<>!+-*/";
  if (k_operators.find(before) != std::string_view::npos || after == '=' || after == '>') return;
  const auto computed = expression_before(plain, equals);
  // "50 / 1.000 = 5,0%": the points separate thousands.
  if (!computed || has_decimal_comma(plain)) return;
  if (has_commas && has_point_of_thousands(computed->text)) return;
  std::size_t at = equals + 1;
  while (at < plain.size() && (plain[at] == ' ' || plain[at] == '~')) ++at;
  auto printed = figure_at(plain, at);
  if (!printed || printed->bounded) return;
  // "= 1 -> 16", "= 2 x 8" and "= 8 192" are more arithmetic, not a result. A later "=" is checked
  // separately.
  const std::string rest = trimmed(std::string_view(plain).substr(printed->end));
  constexpr std::string_view k_more = "^*/(:";
  const char next = printed->end < plain.size() ? plain[printed->end] : ' ';
  const char first = rest.empty() ? ' ' : rest[0];
  const bool goes_on =
      k_more.find(next) != std::string_view::npos || (first >= '0' && first <= '9') ||
      first == '^' || first == '*' || first == '+' || first == '/' ||
      (first == 'x' && (rest.size() < 2 || rest[1] == ' ' || (rest[1] >= '0' && rest[1] <= '9'))) ||
      (first == '-' && rest.size() > 1 && (rest[1] == ' ' || rest[1] == '>'));
  if (goes_on) return;
  take_word(rest, *printed);
  const auto value = in_unit(*computed, printed->unit);
  if (!value) return;
  // The mean of percentages is itself a percentage.
  const bool is_mean =
      printed->unit == Unit::percent && value->middle() > 1000 && computed->value.middle() <= 100;
  const std::string formula =
      fmt::format("{} = {}", computed->text, shown(is_mean ? computed->value : *value, *printed));
  const bool as_it_is = printed->unit == Unit::percent && computed->unit == Unit::none &&
                        agrees(*printed, *computed, computed->value);
  // "1298 x 4.5 / 8 = 730 MB": the operands already have the result's prefix.
  Figure bare = *printed;
  bare.value /= bare.scale, bare.high /= bare.scale, bare.step /= bare.scale, bare.scale = 1;
  const bool in_prefix = printed->scale != 1 && computed->unit == Unit::none &&
                         agrees(bare, *computed, computed->value);
  // "(60 - 8) / 60 = 86.7": a share without its percent sign.
  const bool share = printed->unit == Unit::none && computed->unit == Unit::none &&
                     computed->divided &&
                     agrees(*printed, *computed, computed->value * Interval{100, 100});
  if (as_it_is || in_prefix || share || agrees(*printed, *computed, *value)) {
    notes.held(line.number, formula + ", printed " + printed->printed);
    return;
  }
  const std::string_view doubt = doubt_of(plain, *computed, *printed, *value, rest);
  const bool sure = !is_near(*printed, *value) && is_unmistakable(*computed, *printed, rest);
  notes.add({.severity = !doubt.empty() ? Severity::unknown
                         : sure         ? Severity::contradiction
                                        : Severity::doubtful,
             .line = line.number,
             .printed = printed->printed,
             .computed = formula,
             .meaning = doubt.empty() ? "the arithmetic that is written out gives another figure"
                                      : std::string(doubt),
             .tolerance = tolerance_of(*printed)});
}

/// Checks "AI = 0.47 FLOPs/byte" against the FLOPs and bytes stated above it.
void check_intensity(const Facts& facts, std::size_t index, Notes& notes) {
  const Line& line = facts.document.lines[index];
  const auto& figures = facts.of(line.number);
  if (figures.empty() || figures.front().unit != Unit::intensity || figures.front().bounded) return;
  const Figure* work = nullptr;
  const Figure* moved = nullptr;
  for (std::size_t up = index; up-- > 0 && up + 5 > index;) {
    const Line& above = facts.document.lines[up];
    const auto& there = facts.of(above.number);
    if (trimmed(above.plain).empty() || there.empty()) break;
    const auto label = label_of(above.plain);
    if (moved == nullptr && there.back().unit == Unit::bytes) moved = &there.back();
    if (work == nullptr && label && label->label == "flops") work = &there.back();
  }
  if (work == nullptr || moved == nullptr) return;
  const auto value = divide(work->operand(), moved->operand());
  if (!value) return;
  const Figure& printed = figures.front();
  const std::string formula =
      fmt::format("{} / {} = {}", work->printed, moved->printed, show(*value, Unit::intensity));
  if (printed.result().meets(*value)) {
    notes.held(line.number, formula + ", printed " + printed.printed);
  } else {
    notes.add({.line = line.number,
               .printed = printed.printed,
               .computed = formula,
               .meaning = "the intensity does not follow from the FLOPs and bytes above it",
               .tolerance = tolerance_of(printed)});
  }
}

/// Whether only brackets, bars and signs separate two figures.
bool are_beside(std::string_view between) {
  return between.find_first_not_of(" ()|:=~*") == std::string_view::npos;
}

/// Whether nothing follows the figure in its cell or line that may change it, unlike in
/// "$3,000/month" or "$0 (free)".
bool ends_cell(std::string_view rest) {
  const std::string behind = trimmed(rest);
  return behind.empty() || behind[0] == '|' || behind[0] == ')' || behind == ".";
}

/// Checks "55 min @ $0.20/hr" in one cell or bracket against the price beside it. If a price stands
/// before it, that is its price and the next cell holds another one.
void check_rate(const Facts& facts, const Line& line, Notes& notes) {
  const auto& figures = facts.of(line.number);
  for (std::size_t n = 0; n + 2 < figures.size(); ++n) {
    const Figure &time = figures[n], &rate = figures[n + 1], &price = figures[n + 2];
    if (time.unit != Unit::time || rate.unit != Unit::money_rate || price.unit != Unit::money) {
      continue;
    }
    if (line.plain.substr(time.end, rate.begin - time.end).find('@') == std::string::npos) continue;
    const std::size_t cell = line.plain.rfind('|', time.begin);
    const bool first = n == 0 || (cell != std::string::npos && figures[n - 1].begin < cell);
    const std::string_view plain = line.plain;
    if (!first || !are_beside(plain.substr(rate.end, price.begin - rate.end))) continue;
    const Interval value = time.operand() * rate.operand() * Interval{1 / 3600.0, 1 / 3600.0};
    const std::string formula =
        fmt::format("{} x {} = {}", time.printed, rate.printed, show(value, Unit::money));
    if (price.result().meets(value)) {
      notes.held(line.number, formula + ", printed " + price.printed);
    } else {
      const bool sure = !time.is_range && !time.approximate && !price.approximate &&
                        ends_cell(plain.substr(price.end));
      notes.add({.severity = sure ? Severity::contradiction : Severity::doubtful,
                 .line = line.number,
                 .printed = price.printed,
                 .computed = formula,
                 .meaning = "the price does not follow from the time and the rate beside it",
                 .tolerance = tolerance_of(price)});
    }
  }
}

/// Checks a share of a stated whole: "384 bytes (0.8% of available 48KB)".
void check_share(const Facts& facts, const Line& line, Notes& notes) {
  const auto& figures = facts.of(line.number);
  for (std::size_t n = 1; n + 1 < figures.size(); ++n) {
    const Figure &part = figures[n - 1], &share = figures[n], &whole = figures[n + 1];
    if (share.unit != Unit::percent || part.unit != whole.unit || part.unit == Unit::none ||
        part.unit == Unit::percent || share.is_range || share.bounded) {
      continue;
    }
    const std::string between =
        trimmed(std::string_view(line.lower).substr(share.end, whole.begin - share.end));
    // "14-44x on 95 % of the time, so 9x": a share of a factor has no meaning.
    if (part.unit == Unit::factor || part.is_range || whole.is_range || part.bounded ||
        whole.bounded) {
      continue;
    }
    // "88 % of cuBLAS, up from 40 TFLOPS" and "58 TFLOPS …, now 88 %": the text between them says
    // that they are unrelated.
    const std::string link =
        trimmed(std::string_view(line.plain).substr(part.end, share.begin - part.end));
    // "13.5 ms + 21.8 ms = 59 % of the 59 ms": this is the share of the sum.
    const std::string before = trimmed(std::string_view(line.plain).substr(0, part.begin));
    const bool summed = link.find('=') != std::string::npos || before.ends_with('+');
    // "max $500, 25% of balance = $37": the whole is the quantity named between them; its value
    // follows.
    if (summed || !between.starts_with("of") || between.size() > 24 || link != "(" ||
        between.find_first_of(",;.()=:>") != std::string::npos) {
      continue;
    }
    const auto value = divide(part.operand(), whole.operand());
    if (!value) continue;
    const Interval percent = *value * Interval{100, 100};
    const std::string formula =
        fmt::format("{} / {} = {}", part.printed, whole.printed, show(percent, Unit::percent));
    if (share.result().meets(percent)) {
      notes.held(line.number, formula + ", printed " + share.printed);
    } else {
      // "(4% of 48 KB saved)", "(20% of the 12 ms that are left)": these are shares of another
      // quantity.
      const bool sure = !part.approximate && !whole.approximate && !share.approximate &&
                        ends_cell(std::string_view(line.plain).substr(whole.end));
      notes.add({.severity = sure ? Severity::contradiction : Severity::doubtful,
                 .line = line.number,
                 .printed = share.printed + " of " + whole.printed,
                 .computed = formula,
                 .meaning = "the share does not follow from the two figures beside it",
                 .tolerance = tolerance_of(share)});
    }
  }
}

}  // namespace

void check_arithmetic(const Facts& facts, Notes& notes) {
  const auto& all = facts.document.lines;
  const bool has_commas = std::any_of(
      all.begin(), all.end(), [](const Line& line) { return has_decimal_comma(line.plain); });
  for (std::size_t n = 0; n < facts.document.lines.size(); ++n) {
    const Line& line = facts.document.lines[n];
    if (line.plain.find('=') != std::string::npos) {
      const std::string plain = read_on(facts.document, n);
      for (std::size_t at = line.plain.find('='); at != std::string::npos;
           at = line.plain.find('=', at + 1)) {
        check_equals(line, plain, at, has_commas, notes);
      }
    }
    check_rate(facts, line, notes);
    check_share(facts, line, notes);
  }
}

void check_intensities(const Facts& facts, Notes& notes) {
  for (std::size_t n = 0; n < facts.document.lines.size(); ++n) check_intensity(facts, n, notes);
}

}  // namespace wb::audit
