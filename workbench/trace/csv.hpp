// SPDX-License-Identifier: MIT
// The two text forms of TraceLens' tables: CSV (RFC 4180) and, inside its cells, Python literals.
// Called by prepare, which writes them, and analyze, which reads them.
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

/// Errors: parse (a quote that never closes, a row of another length; the line is named).
Result<CsvTable> parse_csv(std::string_view text, std::string_view what);
/// A cell, in quotes where it needs them.
std::string csv_cell(std::string_view text);

/// A Python literal as JSON: tuples and lists are lists, None and nan are null, inf too (JSON has
/// neither), np.float64(x) and the like are x. Errors: parse, limit (depth).
Result<Json> parse_python_literal(std::string_view text);
/// JSON as Python writes it; `tuples`: lists become tuples.
std::string python_literal(const Json& value, bool tuples);
/// A number as Python's repr: the shortest text that reads back the same.
std::string python_number(double value);
/// Of a cell: nothing when it is empty, nan or no number.
std::optional<double> cell_number(std::string_view text);

}  // namespace wb::trace
