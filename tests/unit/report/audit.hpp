// SPDX-License-Identifier: MIT
// An audit of a rendered page: every figure that carries a unit is looked up in the events it
// cites. It reads the page as a reader does and knows nothing of how pages are made.
#pragma once

#include <cstdint>
#include <functional>
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

}  // namespace wb::test
