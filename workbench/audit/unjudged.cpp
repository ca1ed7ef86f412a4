// SPDX-License-Identifier: MIT
#include "audit/unjudged.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/ratios.hpp"
#include "audit/sums.hpp"

namespace wb::audit {
namespace {

/// The lines of findings and of figures that were found right.
std::vector<int> judged_lines(const Notes& notes) {
  std::vector<int> lines;
  for (const Finding& one : notes.m_findings) {
    lines.push_back(one.line);
    lines.insert(lines.end(), one.also.begin(), one.also.end());
  }
  for (const HeldFigure& one : notes.m_held) lines.push_back(one.line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

bool has_figure(const TableFacts& table, const Row& row) {
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    if (table.figure(row, column)) return true;
  }
  return false;
}

std::string lines_of(const std::vector<int>& lines) {
  constexpr std::size_t k_shown = 5;
  const std::size_t shown = std::min(k_shown, lines.size());
  return fmt::format("line{} {}{}", lines.size() == 1 ? "" : "s",
                     fmt::join(lines.begin(), lines.begin() + static_cast<long>(shown), ", "),
                     shown < lines.size() ? ", …" : "");
}

}  // namespace

std::vector<std::string> unjudged_figures(const Facts& facts, const Notes& notes) {
  const std::vector<int> judged = judged_lines(notes);
  const auto is_judged = [&](int line) {
    return std::binary_search(judged.begin(), judged.end(), line);
  };
  std::vector<int> rows, columns;
  for (const TableFacts& table : facts.tables) {
    // Omitted rows are already reported.
    if (!table.table->complete) continue;
    bool any = is_judged(table.table->line);
    for (const Row& row : table.table->rows) {
      any = any || is_judged(row.line);
      const bool aggregate =
          !row.cells.empty() && (is_total(row.cells.front()) || is_aggregate(row));
      if (aggregate && has_figure(table, row) && !is_judged(row.line)) rows.push_back(row.line);
    }
    if (!any && !ratio_columns(table).empty()) columns.push_back(table.table->line);
  }
  std::vector<std::string> sentences;
  if (!rows.empty()) {
    sentences.push_back(
        fmt::format("{} row{} called total, mean or the like ({}): what {} made of was not "
                    "read whole, or is nothing that adds up: not judged",
                    rows.size(), rows.size() == 1 ? "" : "s", lines_of(rows),
                    rows.size() == 1 ? "it is" : "they are"));
  }
  if (!columns.empty()) {
    sentences.push_back(
        fmt::format("{} table{} with ratios ({}): no times or rates that they divide were "
                    "found: not judged",
                    columns.size(), columns.size() == 1 ? "" : "s", lines_of(columns)));
  }
  return sentences;
}

}  // namespace wb::audit
