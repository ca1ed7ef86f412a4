// SPDX-License-Identifier: MIT
#include "core/csv.hpp"

namespace wb {

std::vector<std::vector<std::string>> parse_csv(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  bool is_quoted = false, has_row = false;
  const auto end_row = [&] {
    row.push_back(std::move(field));
    field.clear();
    rows.push_back(std::move(row));
    row.clear();
    has_row = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
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
      continue;
    }
    has_row = true;
    if (c == '"') {
      is_quoted = true;
    } else if (c == ',') {
      row.push_back(std::move(field));
      field.clear();
    } else {
      field += c;
    }
  }
  if (has_row) end_row();
  return rows;
}

}  // namespace wb
