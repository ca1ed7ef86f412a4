// SPDX-License-Identifier: MIT
// The text forms of TraceLens' tables: CSV (RFC 4180) and, inside cells, Python literals. prepare
// writes them, analyze reads them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"

namespace wb::trace {

struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< each as long as the header

  [[nodiscard]] bool has(std::string_view column) const;
  /// Empty when there is no such column.
  [[nodiscard]] const std::string& cell(std::size_t row, std::string_view column) const;
};

/// Errors: parse (an unclosed quote, a row of another length; names the line).
Result<CsvTable> parse_csv(std::string_view text, std::string_view what);
/// A cell, in quotes where it needs them.
std::string csv_cell(std::string_view text);

/// A Python literal as JSON: tuples and lists become lists; None, nan and inf become null;
/// np.float64(x) and the like become x. Errors: parse, limit (depth).
Result<Json> parse_python_literal(std::string_view text);
/// JSON as Python writes it; `tuples`: lists become tuples.
std::string python_literal(const Json& value, bool tuples);
/// A number as Python's repr: the shortest text that reads back the same.
std::string python_number(double value);
/// The number in a cell; nothing when it is empty, nan or no number.
std::optional<double> cell_number(std::string_view text);

}  // namespace wb::trace
