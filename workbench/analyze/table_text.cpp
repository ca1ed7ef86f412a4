// SPDX-License-Identifier: MIT
#include "analyze/table_cells.hpp"

#include <algorithm>

#include "core/ascii.hpp"
#include "core/text.hpp"

namespace wb::analyze {
namespace {

/// Trimmed, and without marks of emphasis and code.
std::string cell_of(std::string_view text) {
  constexpr std::string_view k_around = " \t\r*`";
  const auto begin = text.find_first_not_of(k_around);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(k_around) - begin + 1));
}

/// True for "|---:|:--|", the line below a header.
bool is_rule(std::string_view line) {
  return line.find('-') != std::string_view::npos &&
         line.find_first_not_of("|-:+ \t") == std::string_view::npos;
}

std::vector<std::string> cells_between_bars(std::string_view line) {
  if (line.starts_with('|')) line.remove_prefix(1);
  if (line.ends_with('|')) line.remove_suffix(1);
  std::vector<std::string> cells(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cells.back() += line[++i];
    } else if (line[i] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  for (std::string& cell : cells) cell = cell_of(cell);
  return cells;
}

std::vector<TextTable> markdown_tables(std::string_view text) {
  std::vector<TextTable> tables;
  bool is_open = false;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = ascii::trimmed(text.substr(at, end - at));
    at = end + 1;
    ++number;
    const bool has_bar = line.find('|') != std::string_view::npos;
    if (!has_bar) {
      is_open = is_open && is_rule(line) && tables.back().rows.empty();
      continue;
    }
    if (is_rule(line)) continue;
    TextRow row{number, cells_between_bars(line)};
    if (is_open) {
      tables.back().rows.push_back(std::move(row));
    } else {
      tables.push_back({std::move(row), {}});
      is_open = true;
    }
  }
  std::erase_if(tables, [](const TextTable& table) { return table.rows.empty(); });
  return tables;
}

std::vector<TextRow> csv_records(std::string_view text) {
  std::vector<TextRow> rows;
  for (CsvRow& row : parse_csv(text)) {
    for (std::string& cell : row.fields) cell = cell_of(cell);
    rows.push_back({row.line, std::move(row.fields)});
  }
  return rows;
}

}  // namespace

Result<std::vector<TextTable>> read_tables(std::string_view bytes, std::string_view what) {
  const std::string text = plain_text(bytes);
  const std::string_view header = std::string_view(text).substr(0, text.find('\n'));
  const bool has_semicolons =
      header.find(';') != std::string_view::npos && header.find(',') == std::string_view::npos;
  const Error none{ErrorCode::parse, "read the table of", std::string(what),
                   has_semicolons ? "its header has semicolons between the cells"
                                  : "there is no header with a row below it",
                   has_semicolons ? "save it with commas between the cells and points in numbers"
                                  : "give CSV, or Markdown with bars between the cells"};
  if (!what.ends_with(".csv") && text.find('|') != std::string_view::npos) {
    auto tables = markdown_tables(text);
    if (!tables.empty()) return tables;
    return none;
  }
  std::vector<TextRow> rows = csv_records(text);
  if (rows.size() < 2 || rows.front().cells.size() < 2) return none;
  TextTable table{std::move(rows.front()), {}};
  table.rows.assign(std::make_move_iterator(rows.begin() + 1), std::make_move_iterator(rows.end()));
  return std::vector<TextTable>{std::move(table)};
}

}  // namespace wb::analyze
