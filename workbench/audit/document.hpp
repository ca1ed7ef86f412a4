// SPDX-License-Identifier: MIT
// A report split into plain lines, sections and tables. Reads Markdown and plain text with bars,
// and judges no figure. Made by read_document(), read by every check.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/figure.hpp"

namespace wb::audit {

inline constexpr std::size_t k_max_line_bytes = 4'000;  ///< of a plain line; the rest is not read
inline constexpr std::size_t k_max_columns = 64;        ///< of a table
inline constexpr std::size_t k_max_tables = 200;
inline constexpr std::size_t k_max_rows = 2'000;    ///< of a table
inline constexpr std::size_t k_max_lines = 50'000;  ///< of a document

struct Line {
  int number = 0;
  std::string plain;
  std::string lower;    ///< plain in lower case
  int section = 0;      ///< index into sections
  bool fenced = false;  ///< inside a code block
  bool in_table = false;
  bool item = false;  ///< of a list
  std::size_t indent = 0;
};

struct Section {
  int line = 0, level = 0, parent = -1;
  std::string title;  ///< plain, lower case; empty for the part before the first heading
  std::string shown;  ///< the same with its letter case, without symbols
};

struct Row {
  int line = 0;
  std::vector<std::string> cells;  ///< plain, trimmed
};

struct Table {
  int line = 0, section = 0;
  std::string caption;  ///< the last text line within three lines before it, lower case
  std::vector<std::string> headers;
  std::vector<Row> rows;
  bool complete = true;  ///< no row was left out, so that sums and counts are valid
};

struct Document {
  std::string name;
  std::vector<Line> lines;
  std::vector<Section> sections;
  std::vector<Table> tables;
  std::vector<std::string> gaps;  ///< what could not be read, in sentences
  std::string repaired;           ///< repairs before reading; empty: none
  [[nodiscard]] const Line& at(int number) const {
    return lines[static_cast<std::size_t>(number - 1)];
  }
  /// The titles of a section and its parents, joined by " / ".
  [[nodiscard]] std::string path_of(int section) const;
};

/// `bytes` as they are in the file. What cannot be read is a gap, never an error.
Document read_document(std::string name, std::string_view bytes);

std::string trimmed(std::string_view text);
std::string lower_of(std::string_view text);
/// True when `text` contains `word` as a whole word.
bool has_word(std::string_view text, std::string_view word);
std::optional<std::size_t> find_word(std::string_view text, std::string_view word,
                                     std::size_t from = 0);
/// The cell of that column; empty in a row that is too short.
const std::string& cell_of(const Row& row, std::size_t column);

}  // namespace wb::audit
