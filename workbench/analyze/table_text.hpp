// SPDX-License-Identifier: MIT
// Tables as people write them: CSV, or Markdown with bars. Cells come as text, without the marks of
// Markdown; what the rows mean is measured_table.hpp's matter. Pure; who calls: it and its tests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace wb::analyze {

struct TextRow {
  std::size_t line = 0;  ///< of the file, from 1
  std::vector<std::string> cells;
};

struct TextTable {
  TextRow header;
  std::vector<TextRow> rows;  ///< of any length
};

/// All tables of a text. Markdown: runs of lines with bars, with or without outer ones, inside and
/// outside of code fences; the line of dashes is no row. A text without bars, or one
/// whose name ends in .csv, is one CSV table.
/// Errors: parse (no table).
Result<std::vector<TextTable>> read_tables(std::string_view text, std::string_view what);

}  // namespace wb::analyze
