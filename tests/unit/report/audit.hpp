// SPDX-License-Identifier: MIT
// An audit of a rendered page: every figure that carries a unit is looked up in the events it
// cites. It reads the page as a reader does and knows nothing of how pages are made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"

namespace wb::test {

/// Type and payload of an event by its number; nullptr when there is none.
using EventLookup = std::function<const std::pair<std::string, Json>*(std::int64_t)>;

struct Audit {
  int figures = 0;                   ///< looked up
  std::vector<std::string> faults;   ///< each with the figure and its line
  std::vector<std::size_t> offsets;  ///< of each figure's last digit in the page
};

/// Figures: "2.65x", "1.2 %", the ends of intervals, cells of columns in us and s, dollars.
/// Not looked up: what a page says without a unit (counts), wall times, words between backticks.
Audit audit_page(const std::string& page, const EventLookup& events);

// Private to the audit: figures and citations as they stand in a line of a page.

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
