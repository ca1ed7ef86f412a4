// SPDX-License-Identifier: MIT
// Private to the audit: figures and citations as they stand in a line of a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wb::test {

enum class Unit {
  ratio,
  low,
  high,
  percent,
  microseconds,
  compiler_s,
  device_s,
  tokens,
  rate,
  usd
};

struct Figure {
  std::string digits;  ///< as printed
  std::size_t at = 0;  ///< in its text
  Unit unit = Unit::ratio;
};

struct Citations {
  std::vector<std::int64_t> events;
  std::size_t at = 0, end = 0;  ///< in their text
};

/// Not part of a longer word, as the 1 in "S1x4096" is.
bool is_part_of_word(char c);
/// Numbers with a unit and the ends of intervals; `column`: the unit of a cell that is one number.
std::vector<Figure> figures_in(const std::string& text, std::optional<Unit> column);
/// Runs of "[e3] [e5]" and "[e3] to [e9]" (all from 3 to 9).
std::vector<Citations> citations_in(const std::string& text);

}  // namespace wb::test
