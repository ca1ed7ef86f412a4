// SPDX-License-Identifier: MIT
// Text that other programs write and people read: files of foreign editors (a byte order mark,
// Windows or old Mac line ends, another encoding), CSV, rows of Markdown tables, sizes in words.
// JSON has its own rules (parse_json).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"

namespace wb {

/// Removes a UTF-8 byte order mark and turns all line ends into "\n". Line numbers stay the same.
std::string plain_text(std::string_view bytes);

/// Guesses an encoding other than UTF-8 from the first bytes, for messages ("UTF-16, not UTF-8");
/// empty when none is recognized.
std::string_view foreign_encoding(std::string_view bytes);

/// Reads a file as plain text. `doing` is for messages: "read the playbook". Errors: those of
/// reading, invalid (another encoding).
Result<std::string> read_plain_text(const FileSystem& files, const fs::path& path,
                                    std::uint64_t max_bytes, std::string_view doing);

struct CsvRow {
  std::vector<std::string> fields;
  std::size_t line = 1;   ///< where it begins, from 1
  bool is_closed = true;  ///< false: its last quote never closes, and the text ends in it
};
/// Parses CSV as RFC 4180 defines it: quoted fields may hold commas, line ends and doubled quotes.
/// Lines without a field are left out.
std::vector<CsvRow> parse_csv(std::string_view text);

/// A size in the largest unit of those allowed that leaves at least one of it: 1.5 and "MiB".
enum class BinaryUnit { b, kib, mib, gib, tib };
struct BinarySize {
  double value = 0;
  std::string_view unit;
};
BinarySize binary_size(double bytes, BinaryUnit least = BinaryUnit::b,
                       BinaryUnit most = BinaryUnit::tib);

namespace markdown {

/// "| a | b |" with its line end. Bars in cells must be escaped.
std::string row(const std::vector<std::string>& cells);
/// A table's first two lines.
std::string head(const std::vector<std::string>& cells);

}  // namespace markdown
}  // namespace wb
