// SPDX-License-Identifier: MIT
// Figures as people print them: numbers with units, ranges, thousands separators and prefixes, and
// what their last digit leaves open. Read from plain lines (document.hpp) by every check.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wb::audit {

/// Values are kept in the base unit: s, FLOP, FLOP/s, byte, byte/s, %, times, USD, USD/h.
enum class Unit {
  none,
  time,
  flops,
  flop_rate,
  bytes,
  byte_rate,
  intensity,
  percent,
  factor,
  money,
  money_rate
};

/// What a value may be, given the digits that were printed.
struct Interval {
  double low = 0, high = 0;
  [[nodiscard]] bool meets(const Interval& other) const {
    return low <= other.high && other.low <= high;
  }
  [[nodiscard]] double middle() const { return (low + high) / 2; }
};
Interval operator+(const Interval& a, const Interval& b);
Interval operator-(const Interval& a, const Interval& b);
Interval operator*(const Interval& a, const Interval& b);
/// Nothing where b may be 0.
std::optional<Interval> divide(const Interval& a, const Interval& b);

struct Figure {
  std::string printed;             ///< as it stands in the plain line
  Unit unit = Unit::none;          ///<
  double value = 0;                ///< base unit; the lower end of a range
  double high = 0;                 ///< the upper end; equal to value of a single figure
  double step = 0;                 ///< one unit of the last printed digit, base unit
  double scale = 1;                ///< of the printed unit, to print others like it
  bool is_range = false;           ///<
  bool approximate = false;        ///< "~" or "about"
  bool bounded = false;            ///< "<", ">" or "+": a limit, no value
  bool binary_too = false;         ///< KB, MB …: 1000 and 1024 are both meant by them
  std::size_t begin = 0, end = 0;  ///< columns of the plain line

  /// As an operand: half a step to each side; a whole number of things, bytes or FLOPs is exact.
  [[nodiscard]] Interval operand(bool upper = false) const;
  /// As a result: one step to each side, so that both rounded and truncated digits pass; 10 % more
  /// of what is called approximate.
  [[nodiscard]] Interval result(bool upper = false) const;
  /// As an operand, from the lower end of a range to the upper one.
  [[nodiscard]] Interval whole() const { return {operand().low, operand(true).high}; }
};

/// The figure that begins at `at`, not in the middle of a word or number; nothing where none does.
std::optional<Figure> figure_at(std::string_view plain, std::size_t at);
/// All figures of a line, from left to right. Dates, times of day, addresses, versions and numbers
/// inside names (FA-2, v3, sm_90) are none.
std::vector<Figure> figures_in(std::string_view plain);

/// "1,5 ms" or a cell "0,50": what the comma means cannot be told, so figures_in() leaves it out;
/// as it does figures with a minus sign.
bool has_decimal_comma(std::string_view plain);

/// "0.0470", "441", "3.36e+07": four significant digits at most.
std::string show(double value);
/// The value in a unit fit for it: "93.0 GB/s".
std::string show(double value, Unit unit);
std::string show(const Interval& interval, Unit unit);
/// As printed, with the unit that its column gives: "0.579 ms".
std::string full(const Figure& figure);
/// "the last digit's ±0.001" of a printed figure, in its own unit.
std::string tolerance_of(const Figure& figure);

}  // namespace wb::audit
