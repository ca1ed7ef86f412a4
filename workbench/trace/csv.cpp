// SPDX-License-Identifier: MIT
#include "trace/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace wb::trace {
namespace {

Error parse_error(std::string_view what, std::string cause) {
  return Error{ErrorCode::parse, "read", std::string(what), std::move(cause),
               "make the file again with `sdpa-wb trace prepare`"};
}

}  // namespace

bool CsvTable::has(std::string_view column) const {
  return std::find(header.begin(), header.end(), column) != header.end();
}

const std::string& CsvTable::cell(std::size_t row, std::string_view column) const {
  static const std::string none;
  const auto found = std::find(header.begin(), header.end(), column);
  return found == header.end() ? none : rows[row][static_cast<std::size_t>(found - header.begin())];
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view what) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  CsvTable table;
  std::vector<std::string> row;
  std::string cell;
  std::size_t line = 1, row_line = 1;
  bool quoted = false, begun = false;  // begun: the row is not empty
  const auto end_row = [&]() -> Result<void> {
    row.push_back(std::move(cell));
    cell.clear();
    if (table.header.empty()) {
      table.header = std::move(row);
    } else if (row.size() != table.header.size()) {
      return parse_error(what, fmt::format("line {} has {} cells, the header {}", row_line,
                                           row.size(), table.header.size()));
    } else {
      table.rows.push_back(std::move(row));
    }
    row.clear();
    begun = false;
    return {};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && cell.empty()) {
      quoted = begun = true;
    } else if (c == ',') {
      row.push_back(std::move(cell));
      cell.clear();
      begun = true;
    } else if (c == '\n') {
      if (begun) WB_TRY(end_row());
      row_line = line;
    } else if (c != '\r') {
      cell += c;
      begun = true;
    }
  }
  if (quoted) return parse_error(what, fmt::format("the quote in line {} never closes", row_line));
  if (begun) WB_TRY(end_row());
  return table;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + '"';
}

std::string python_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<double> cell_number(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  // pandas may write np.float64(1.5).
  if (text.starts_with("np.") && text.ends_with(')') && text.find('(') != std::string_view::npos) {
    text = text.substr(text.find('(') + 1);
    text.remove_suffix(1);
  }
  double value = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || stop != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace wb::trace
