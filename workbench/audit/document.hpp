// SPDX-License-Identifier: MIT
// A report taken apart: plain lines, sections, tables. Markdown and plain text with bars; nothing
// here judges a figure. Made by read_document(), read by every check.
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
  std::string title;  ///< plain, lower case; empty for what stands before the first heading
  std::string shown;  ///< the same in its own case, without symbols
};

struct Row {
  int line = 0;
  std::vector<std::string> cells;  ///< plain, trimmed
};

struct Table {
  int line = 0, section = 0;
  std::string caption;  ///< the last line of text before it within three lines, lower case
  std::vector<std::string> headers;
  std::vector<Row> rows;
  bool complete = true;  ///< no row was left out, so that rows may be added up and counted
};

struct Document {
  std::string name;
  std::vector<Line> lines;
  std::vector<Section> sections;
  std::vector<Table> tables;
  std::vector<std::string> gaps;  ///< what could not be read, in sentences
  std::string repaired;           ///< what was mended before reading; empty: nothing
  [[nodiscard]] const Line& at(int number) const {
    return lines[static_cast<std::size_t>(number - 1)];
  }
  /// The titles of a section and of those around it, joined by " / ".
  [[nodiscard]] std::string path_of(int section) const;
};

/// `bytes` as they stand in the file. Whatever could not be read is a gap, never an error.
Document read_document(std::string name, std::string_view bytes);

std::string trimmed(std::string_view text);
std::string lower_of(std::string_view text);
/// `word` in `text` with nothing of a word to either side.
bool has_word(std::string_view text, std::string_view word);
std::optional<std::size_t> find_word(std::string_view text, std::string_view word,
                                     std::size_t from = 0);
/// The same column in a row that may be short; empty where there is none.
const std::string& cell_of(const Row& row, std::size_t column);

}  // namespace wb::audit
