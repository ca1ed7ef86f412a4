// SPDX-License-Identifier: MIT
#include "audit/figure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/ascii.hpp"

namespace wb::audit {
namespace {

/// Larger values, and their reciprocals, are no measurements.
constexpr double k_most_value = 1e200;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return ascii::is_alpha(c);
}
bool is_word(char c) {
  return is_digit(c) || is_letter(c) || c == '_';
}
char char_at(std::string_view text, std::size_t at) {
  return at < text.size() ? text[at] : '\0';
}

struct Number {
  double value = 0, step = 1;
  std::size_t end = 0;
};

/// Reads digits with one point, thousands separators and an exponent. Nothing for dates, times of
/// day, addresses and versions.
std::optional<Number> number_at(std::string_view text, std::size_t at, bool may_group) {
  std::string digits;
  std::size_t end = at;
  while (is_digit(char_at(text, end))) digits += text[end++];
  if (may_group && digits.size() <= 3) {
    std::string grouped = digits;
    std::size_t group = end;
    const auto three = [&](std::size_t from) {
      return is_digit(char_at(text, from)) && is_digit(char_at(text, from + 1)) &&
             is_digit(char_at(text, from + 2)) && !is_digit(char_at(text, from + 3));
    };
    while (char_at(text, group) == ',' && three(group + 1)) {
      grouped += text.substr(group + 1, 3);
      group += 4;
    }
    // "4,64,65,128" is a list: thousands need groups of three digits throughout.
    if (group > end && !(char_at(text, group) == ',' && is_digit(char_at(text, group + 1)))) {
      digits = grouped;
      end = group;
    }
  }
  int decimals = 0;
  if (char_at(text, end) == '.' && is_digit(char_at(text, end + 1))) {
    digits += '.';
    ++end;
    while (is_digit(char_at(text, end))) {
      digits += text[end++];
      ++decimals;
    }
  }
  if (char_at(text, end) == '.' && is_digit(char_at(text, end + 1))) return std::nullopt;
  if (char_at(text, end) == ':' && is_digit(char_at(text, end + 1))) return std::nullopt;
  int exponent = 0;
  if (char_at(text, end) == 'e' || char_at(text, end) == 'E') {
    std::size_t sign = end + 1;
    if (char_at(text, sign) == '+' || char_at(text, sign) == '-') ++sign;
    std::size_t stop = sign;
    while (is_digit(char_at(text, stop))) ++stop;
    if (stop > sign && stop - sign <= 3 && !is_word(char_at(text, stop))) {
      std::from_chars(text.data() + sign, text.data() + stop, exponent);
      if (text[sign - 1] == '-') exponent = -exponent;
      end = stop;
    }
  }
  Number number;
  const auto [stop, fault] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number.value);
  if (fault != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  number.value *= std::pow(10.0, exponent);
  number.step = std::pow(10.0, exponent - decimals);
  number.end = end;
  return number;
}

struct UnitHere {
  Unit unit = Unit::none;
  double scale = 1;
  bool binary_too = false;
  std::size_t end = 0;
};

std::optional<UnitHere> word_unit(std::string_view text, std::size_t at, double prefix) {
  for (const UnitWord& entry : unit_words()) {
    if (text.substr(at, entry.word.size()) != entry.word) continue;
    const std::size_t end = at + entry.word.size();
    const char next = char_at(text, end);
    if (entry.word != "%" &&
        (is_word(next) || (next == '/' && is_letter(char_at(text, end + 1))))) {
      continue;
    }
    return UnitHere{entry.unit, entry.scale * prefix, entry.binary_too, end};
  }
  return std::nullopt;
}

/// Reads what follows a number: a unit, a prefix with or without a unit, or "x".
UnitHere unit_after(std::string_view text, std::size_t at) {
  const char c = char_at(text, at);
  if (c == 'x' || c == 'X') {
    std::size_t next = at + 1;
    if (!is_word(char_at(text, next)) && char_at(text, next) != '(') {
      return {Unit::factor, 1, false, next};
    }
    return {Unit::none, 1, false, at};
  }
  const std::size_t spaced = c == ' ' ? at + 1 : at;
  if (const auto unit = word_unit(text, spaced, 1)) return *unit;
  constexpr std::string_view k_prefixes = "KMGT";
  const std::size_t prefix = k_prefixes.find(c);
  if (c != '\0' && prefix != std::string_view::npos && !is_word(char_at(text, at + 1))) {
    const double scale = std::pow(1e3, static_cast<double>(prefix + 1));
    const std::size_t after = char_at(text, at + 1) == ' ' ? at + 2 : at + 1;
    if (const auto unit = word_unit(text, after, scale)) {
      if (unit->unit == Unit::flops) return *unit;
    }
    // "64K floats": 64,000 or 65,536.
    return {Unit::none, scale, true, at + 1};
  }
  if (c != '\0' && prefix != std::string_view::npos && char_at(text, at + 1) == 'i' &&
      !is_word(char_at(text, at + 2))) {
    return {Unit::none, std::pow(1024.0, static_cast<double>(prefix + 1)), false, at + 2};
  }
  return {Unit::none, 1, false, at};
}

/// Whether a hexadecimal number such as "0x0100" begins at `at`; it is not a product of 0.
bool is_hexadecimal(std::string_view text, std::size_t at) {
  if (char_at(text, at) != '0' || char_at(text, at + 1) != 'x') return false;
  const bool inside = at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.');
  return !inside && ascii::is_hex_digit(char_at(text, at + 2));
}

/// Whether `at` is inside a name or another number.
bool is_inside(std::string_view text, std::size_t at) {
  if (at == 0) return false;
  const char before = text[at - 1];
  if (before == 'x' && at >= 2 && is_hexadecimal(text, at - 2)) return true;
  // "512x64", "2x1.3": the second factor of a product.
  if (before == 'x' && at >= 2 && is_digit(text[at - 2])) return false;
  if (is_word(before) || before == '.' || before == '#') return true;
  if (before == ':' && at >= 2 && is_digit(text[at - 2])) return true;
  if ((before == '-' || before == '+') && at >= 2 && is_word(text[at - 2])) return true;
  return before == '/' && at >= 2 && is_letter(text[at - 2]);
}

bool is_near(std::string_view text, std::size_t at) {
  while (at > 0 && text[at - 1] == ' ') --at;
  const std::string_view before = text.substr(0, at);
  return before.ends_with('~') || before.ends_with("about") || before.ends_with("roughly") ||
         before.ends_with("approximately") || before.ends_with("around");
}

bool is_bound(std::string_view text, std::size_t at) {
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '=')) --at;
  if (at == 0 || (text[at - 1] != '<' && text[at - 1] != '>')) return false;
  return at < 2 || text[at - 2] != '-';  // an arrow is no bound
}

/// The end of a number with a possible decimal comma ("1,5 ms", "| 0,50 |"), which may be one and a
/// half, a list or fifteen; 0 if none begins at `at`. Lists ("4,64,65", "S=128,256") and thousands
/// ("1,024") do not count.
std::size_t decimal_comma_end(std::string_view text, std::size_t at) {
  if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == ',')) return 0;
  std::size_t comma = at;
  while (is_digit(char_at(text, comma))) ++comma;
  std::size_t end = comma + 1;
  while (is_digit(char_at(text, end))) ++end;
  const std::size_t digits = end - comma - 1;
  const bool has_comma = comma > at && char_at(text, comma) == ',' && digits > 0;
  if (!has_comma || (digits == 3 && text[at] != '0')) return 0;
  const char next = char_at(text, end);
  if ((next == ',' || next == '.') && is_digit(char_at(text, end + 1))) return 0;
  if (unit_after(text, end).unit != Unit::none) return end;
  const auto is_edge = [&](std::string_view side, std::size_t place) {
    return place == std::string_view::npos || side[place] == '|';
  };
  const std::string_view before = text.substr(0, at), after = text.substr(end);
  const bool is_cell =
      is_edge(before, before.find_last_not_of(' ')) && is_edge(after, after.find_first_not_of(' '));
  return is_cell ? end : 0;
}

/// Whether a minus sign precedes the figure ("-5 ms"). Figures have no sign, so reading it without
/// would change its value.
bool is_negative(std::string_view text, std::size_t at) {
  if (at == 0 || text[at - 1] != '-') return false;
  return at == 1 || std::string_view(" (|:=~,[").find(text[at - 2]) != std::string_view::npos;
}

/// The factor by which a figure grows if its KB, MB … are powers of 1024.
double binary_factor(const Figure& figure) {
  double factor = 1;
  if (!figure.binary_too) return factor;
  for (double rest = figure.scale; rest >= 1000; rest /= 1000) factor *= 1.024;
  return factor;
}

}  // namespace

Interval operator+(const Interval& a, const Interval& b) {
  return {a.low + b.low, a.high + b.high};
}
Interval operator-(const Interval& a, const Interval& b) {
  return {a.low - b.high, a.high - b.low};
}
Interval operator*(const Interval& a, const Interval& b) {
  const auto [low, high] =
      std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}
std::optional<Interval> divide(const Interval& a, const Interval& b) {
  if (b.low <= 0 && b.high >= 0) return std::nullopt;
  return a * Interval{1 / b.high, 1 / b.low};
}

Interval Figure::operand(bool upper) const {
  const double center = upper ? high : value;
  const bool counted = unit == Unit::none || unit == Unit::bytes || unit == Unit::flops;
  const bool exact = counted && step == 1 && scale == 1;
  const double half = exact ? 0 : step / 2;
  return {center - half, (center + half) * binary_factor(*this)};
}

Interval Figure::result(bool upper) const {
  const double center = upper ? high : value;
  // The ends of a range are rounded, and so is a figure that is called approximate.
  const double more = approximate ? 0.1 * std::abs(center) : 0;
  Interval interval{center - step - more, center + step + more};
  interval.high *= binary_factor(*this);
  return interval;
}

std::optional<Figure> figure_at(std::string_view plain, std::size_t at) {
  const std::size_t begin = at;
  const bool money = char_at(plain, at) == '$';
  if (money) ++at;
  if (!is_digit(char_at(plain, at)) || is_inside(plain, begin) || is_hexadecimal(plain, at)) {
    return std::nullopt;
  }
  // "S=128,256", "4,64,128": lists.
  const bool assigned = begin > 0 && (plain[begin - 1] == '=' || plain[begin - 1] == ',');
  const auto number = number_at(plain, at, !assigned);
  if (!number) return std::nullopt;
  UnitHere unit = unit_after(plain, number->end);
  std::size_t end = unit.end;
  Figure figure;
  figure.value = figure.high = number->value;
  figure.step = number->step;
  std::size_t second = end;
  if (char_at(plain, second) == '-') {
    ++second;
    if (money && char_at(plain, second) == '$') ++second;
    if (const auto other =
            is_digit(char_at(plain, second)) ? number_at(plain, second, true) : std::nullopt) {
      // "2025-10-15" and "1-2-3" are not ranges.
      if (char_at(plain, other->end) == '-' && is_digit(char_at(plain, other->end + 1))) {
        return std::nullopt;
      }
      const UnitHere shared = unit_after(plain, other->end);
      if (unit.unit == Unit::none || unit.unit == shared.unit) {
        const double first_scale = unit.unit == Unit::none ? shared.scale : unit.scale;
        figure.value = number->value * first_scale / shared.scale;
        figure.high = other->value;
        figure.step = std::max(number->step * first_scale / shared.scale, other->step);
        figure.is_range = true;
        unit = shared;
        end = shared.end;
      }
    }
  }
  // A word follows without a space, so this is a name such as "2D" or "4th".
  if (unit.unit == Unit::none && is_word(char_at(plain, end)) &&
      !(char_at(plain, end) == 'x' &&
        (is_digit(char_at(plain, end + 1)) || char_at(plain, end + 1) == '('))) {
    return std::nullopt;
  }
  if (money) {
    unit.unit = Unit::money;
    const std::string_view rest = plain.substr(end);
    for (const std::string_view word : {"/hr", "/hour", "/h", " an hour", " per hour"}) {
      if (rest.starts_with(word) && !is_word(char_at(rest, word.size()))) {
        unit.unit = Unit::money_rate;
        end += word.size();
        break;
      }
    }
  }
  const double largest = std::max(number->value, figure.high) * unit.scale;
  if (!(largest < k_most_value) || (largest > 0 && largest < 1 / k_most_value)) return std::nullopt;
  figure.unit = unit.unit;
  figure.scale = unit.scale;
  figure.binary_too = unit.binary_too;
  figure.value *= unit.scale;
  figure.high *= unit.scale;
  figure.step *= unit.scale;
  figure.approximate = is_near(plain, begin);
  figure.bounded =
      is_bound(plain, begin) || (char_at(plain, end) == '+' && !is_digit(char_at(plain, end + 1)) &&
                                 char_at(plain, end + 1) != ' ');
  if (char_at(plain, end) == '+' && char_at(plain, end + 1) == ' ' &&
      is_letter(char_at(plain, end + 2))) {
    figure.bounded = true;
  }
  figure.begin = begin;
  figure.end = end;
  figure.printed = std::string(plain.substr(begin, end - begin));
  return figure;
}

bool has_decimal_comma(std::string_view plain) {
  for (std::size_t at = 0; at < plain.size(); ++at) {
    const bool begins = is_digit(plain[at]) && (at == 0 || !is_digit(plain[at - 1]));
    if (begins && decimal_comma_end(plain, at) > 0) return true;
  }
  return false;
}

std::vector<Figure> figures_in(std::string_view plain) {
  std::vector<Figure> figures;
  for (std::size_t at = 0; at < plain.size();) {
    const char c = plain[at];
    if (!is_digit(c) && c != '$') {
      ++at;
      continue;
    }
    if (const std::size_t end = decimal_comma_end(plain, at); end > 0) {
      at = end;
      continue;
    }
    if (is_negative(plain, at)) {
      const auto figure = figure_at(plain, at);
      at = figure ? std::max(figure->end, at + 1) : at + 1;
      continue;
    }
    if (auto figure = figure_at(plain, at)) {
      at = std::max(figure->end, at + 1);
      figures.push_back(std::move(*figure));
      continue;
    }
    // Not a figure: skip to the end of its word.
    ++at;
    while (at < plain.size() &&
           (is_word(plain[at]) || ((plain[at] == '.' || plain[at] == ':' || plain[at] == '-') &&
                                   is_digit(char_at(plain, at + 1))))) {
      ++at;
    }
  }
  return figures;
}

}  // namespace wb::audit
