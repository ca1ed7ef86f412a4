// SPDX-License-Identifier: MIT
#include "trace/csv.hpp"
#include "core/text.hpp"

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
  for (CsvRow& row : wb::parse_csv(text)) {
    if (!row.is_closed) {
      return parse_error(what, fmt::format("the quote in line {} never closes", row.line));
    }
    if (table.header.empty()) {
      table.header = std::move(row.fields);
    } else if (row.fields.size() != table.header.size()) {
      return parse_error(what, fmt::format("line {} has {} cells, the header {}", row.line,
                                           row.fields.size(), table.header.size()));
    } else {
      table.rows.push_back(std::move(row.fields));
    }
  }
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
