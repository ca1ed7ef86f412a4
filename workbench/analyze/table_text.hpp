// SPDX-License-Identifier: MIT
// Tables in text form: CSV, or Markdown with bars. Cells are text without Markdown marks;
// measured_table.hpp interprets the rows. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace wb::analyze {

struct TextRow {
  std::size_t line = 0;  ///< in the file, from 1
  std::vector<std::string> cells;
};

struct TextTable {
  TextRow header;
  std::vector<TextRow> rows;  ///< of any length
};

/// All tables of a text. Markdown: runs of lines with bars, with or without outer ones, also in
/// code fences; the line of dashes is no row. A text without bars, or whose name ends in .csv, is
/// one CSV table. Errors: parse (no table).
Result<std::vector<TextTable>> read_tables(std::string_view text, std::string_view what);

}  // namespace wb::analyze
