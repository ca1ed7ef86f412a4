// SPDX-License-Identifier: MIT
// Tables of measured times in text form (CSV, or Markdown with bars), and their cells: units in
// headers, sizes, numbers as people and Python write them. Cells are text without Markdown marks;
// measured_table.hpp interprets the rows. Private to analyze. Pure.
#pragma once

#include <cstddef>
#include <optional>
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

struct HeaderCell {
  std::string name;    ///< in small letters, without the unit
  double unit_us = 0;  ///< microseconds per unit; 0: the header names no unit of time
};
/// "Ours (ms)", "time_us", "PyTorch [us]"; a rate such as "GB/s" is no time.
HeaderCell read_header_cell(std::string_view text);

/// The problem-text key that a column header means ("batch" -> "B"), "problem" for a column of
/// whole texts, empty for others.
std::string size_token(std::string_view header);

struct Token {
  std::string key, value;  ///< "B" and "4"; "dtype" and "f16"
};
/// The words of "B=4,H=8,S=128 f16", split at spaces and commas. Words that do not belong to a
/// problem are kept, so that the problem's parser reports them.
std::vector<Token> problem_tokens(std::string_view text);
/// "Hq=8" in the form of parse_problem(); Python numbers ("8.0", np.int64(8)) become integers.
/// Errors: invalid (a size that is no integer).
Result<std::string> problem_word(const Token& token);

/// A positive finite time in microseconds: a number, np.float64(…) or a number with its own unit
/// ("0.5 ms"). Nothing for anything else, including "1,5", which may mean 1.5 or 15.
std::optional<double> time_of_cell(std::string_view text, double unit_us);

}  // namespace wb::analyze
