// SPDX-License-Identifier: MIT
// Figures as people print them: numbers with units, ranges, thousands separators and prefixes, and
// the uncertainty of their last digit. Every check reads them from plain lines (document.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
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

/// The possible values, given the printed digits.
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
/// Nothing when b may be 0.
std::optional<Interval> divide(const Interval& a, const Interval& b);

struct Figure {
  std::string printed;             ///< as in the plain line
  Unit unit = Unit::none;          ///<
  double value = 0;                ///< base unit; the lower end of a range
  double high = 0;                 ///< the upper end; for a single figure equal to value
  double step = 0;                 ///< one unit of the last printed digit, in the base unit
  double scale = 1;                ///< of the printed unit, to print other values alike
  bool is_range = false;           ///<
  bool approximate = false;        ///< "~" or "about"
  bool bounded = false;            ///< "<", ">" or "+": a limit
  bool binary_too = false;         ///< KB, MB …: may mean powers of 1000 or 1024
  std::size_t begin = 0, end = 0;  ///< columns in the plain line

  /// As an operand: half a step to each side; whole numbers of things, bytes or FLOPs are exact.
  [[nodiscard]] Interval operand(bool upper = false) const;
  /// As a result: one step to each side, so that rounded and truncated digits both pass; 10 % more
  /// for approximate figures.
  [[nodiscard]] Interval result(bool upper = false) const;
  /// As an operand, from the lower to the upper end of a range.
  [[nodiscard]] Interval whole() const { return {operand().low, operand(true).high}; }
};

/// The figure that begins at `at`, outside words and numbers; nothing when there is none.
std::optional<Figure> figure_at(std::string_view plain, std::size_t at);
/// All figures of a line, from left to right, without dates, times of day, addresses, versions and
/// numbers inside names (FA-2, v3, sm_90).
std::vector<Figure> figures_in(std::string_view plain);

/// True for "1,5 ms" or a cell "0,50", whose comma is ambiguous; figures_in() leaves such figures
/// out, as it does negative ones.
bool has_decimal_comma(std::string_view plain);

/// "0.0470", "441", "3.36e+07": four significant digits at most.
std::string show(double value);
/// The value in a suitable unit: "93.0 GB/s".
std::string show(double value, Unit unit);
std::string show(const Interval& interval, Unit unit);
/// As printed, with its column's unit: "0.579 ms".
std::string full(const Figure& figure);
/// "the last digit's ±0.001", in the figure's own unit.
std::string tolerance_of(const Figure& figure);

// units.cpp: the recognized units, as data, to read and to print figures by.

struct UnitWord {
  std::string_view word;
  Unit unit;
  double scale;             ///< to the base unit
  bool binary_too = false;  ///< may mean powers of 1000 or 1024
};
/// Longer words before shorter ones that they begin with.
std::span<const UnitWord> unit_words();

}  // namespace wb::audit
