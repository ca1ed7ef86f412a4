// SPDX-License-Identifier: MIT
#include "core/text.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace wb {

std::string plain_text(std::string_view bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const bool is_return = bytes[at] == '\r';
    if (is_return && at + 1 < bytes.size() && bytes[at + 1] == '\n') continue;
    text += is_return ? '\n' : bytes[at];
  }
  return text;
}

std::string_view foreign_encoding(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\xff\xfe\0\0"sv) || bytes.starts_with("\0\0\xfe\xff"sv)) {
    return "UTF-32, not UTF-8";
  }
  // With a byte order mark, blanks and line ends have a zero byte, which Latin-1 text does not.
  if ((bytes.starts_with("\xff\xfe"sv) || bytes.starts_with("\xfe\xff"sv)) &&
      bytes.find('\0') != std::string_view::npos) {
    return "UTF-16, not UTF-8";
  }
  // Without one, every other byte of plain letters is zero.
  const bool is_wide = bytes.size() >= 4 && (bytes[0] == '\0') != (bytes[1] == '\0') &&
                       (bytes[0] == '\0') == (bytes[2] == '\0') &&
                       (bytes[1] == '\0') == (bytes[3] == '\0');
  return is_wide ? "UTF-16, not UTF-8" : "";
}

Result<std::string> read_plain_text(const FileSystem& files, const fs::path& path,
                                    std::uint64_t max_bytes, std::string_view doing) {
  WB_TRY_ASSIGN(const std::string bytes, files.read(path, max_bytes));
  const std::string_view encoding = foreign_encoding(bytes);
  if (encoding.empty()) return plain_text(bytes);
  return Error{ErrorCode::invalid, std::string(doing), path.string(),
               "it is " + std::string(encoding), "save it as UTF-8"};
}

std::vector<CsvRow> parse_csv(std::string_view text) {
  std::vector<CsvRow> rows;
  CsvRow row;
  std::string field;
  std::size_t line = 1;
  bool is_quoted = false, has_row = false;
  const auto end_row = [&] {
    row.fields.push_back(std::exchange(field, {}));
    row.is_closed = !is_quoted;
    rows.push_back(std::exchange(row, {}));
    has_row = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (is_quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        is_quoted = false;
      }
      continue;
    }
    if (c == '\r') continue;
    if (c == '\n') {
      if (has_row) end_row();
      row.line = line;
      continue;
    }
    has_row = true;
    if (c == '"') {
      is_quoted = true;
    } else if (c == ',') {
      row.fields.push_back(std::exchange(field, {}));
    } else {
      field += c;
    }
  }
  if (has_row) end_row();
  return rows;
}

BinarySize binary_size(double bytes, BinaryUnit least, BinaryUnit most) {
  static constexpr std::array<std::string_view, 5> k_units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit < static_cast<std::size_t>(least) ||
         (bytes >= 1024 && unit < static_cast<std::size_t>(most))) {
    bytes /= 1024;
    ++unit;
  }
  return {bytes, k_units[unit]};
}

namespace markdown {

std::string row(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string head(const std::vector<std::string>& cells) {
  return row(cells) + row(std::vector<std::string>(cells.size(), "---"));
}

}  // namespace markdown

}  // namespace wb
