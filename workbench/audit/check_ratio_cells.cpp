// SPDX-License-Identifier: MIT
// Checks "22x slower" and "1.8x faster" in the cells of rows with two times.
#include <fmt/format.h>

#include "audit/checks.hpp"
#include "audit/ratios.hpp"

namespace wb::audit {
namespace {

/// A factor such as "1.8x faster" in a cell of a row with two times.
struct ToldCell {
  const Row* row;
  std::size_t column;
  std::string printed, formula, tolerance;
  bool fits;
  bool leads;  ///< the cell begins with the factor or is a ratio, not a remark
};

std::vector<ToldCell> told_in(const TableFacts& table, const std::vector<std::size_t>& times) {
  std::vector<ToldCell> told;
  for (const Row& row : table.table->rows) {
    const auto first = whole_figure(table, row, times[0]),
               second = whole_figure(table, row, times[1]);
    if (!first || !second || first->value <= 0 || second->value <= 0 || is_aggregate(row)) continue;
    const bool is_first = first->value > second->value;
    const auto ratio = is_first ? divide(first->whole(), second->whole())
                                : divide(second->whole(), first->whole());
    if (!ratio) continue;
    const std::string formula =
        fmt::format("{} / {} = {}", full(is_first ? *first : *second),
                    full(is_first ? *second : *first), show(*ratio, Unit::factor));
    for (std::size_t column = 0; column < row.cells.size(); ++column) {
      const std::string& cell = row.cells[column];
      for (const Figure& figure : figures_in(cell)) {
        const std::string rest = trimmed(std::string_view(cell).substr(figure.end));
        if (figure.unit != Unit::factor || figure.is_range || figure.bounded ||
            rest.find(" than ") != std::string::npos || rest.find(" vs") != std::string::npos ||
            (!rest.starts_with("slower") && !rest.starts_with("faster"))) {
          continue;
        }
        const bool leads = figure.begin == 0 || (column < table.columns.size() &&
                                                 table.columns[column].role == Role::ratio);
        const bool fits = figure.result().meets(*ratio);
        const std::string printed =
            fits ? figure.printed : figure.printed + " " + rest.substr(0, 6);
        told.push_back({&row, column, printed, formula, tolerance_of(figure), fits, leads});
      }
    }
  }
  return told;
}

}  // namespace

/// Judges the cells, except in a column whose factors never fit the two times or that names a third
/// ("vs Python"); it is about something else.
void check_ratio_cells(const TableFacts& table, const std::vector<std::size_t>& times,
                       Notes& notes) {
  const std::vector<ToldCell> told = told_in(table, times);
  for (const ToldCell& one : told) {
    if (one.fits) {
      notes.held(one.row->line, one.formula + ", printed " + one.printed);
      continue;
    }
    std::size_t fits = 0, others = 0;
    for (const ToldCell& other : told) {
      if (other.column == one.column) ++(other.fits ? fits : others);
    }
    const std::string header = one.column < table.table->headers.size()
                                   ? lower_of(table.table->headers[one.column])
                                   : std::string();
    const bool third = fits == 0 && (others > 1 || !one.leads || has_word(header, "vs") ||
                                     has_word(header, "than") || has_word(header, "over"));
    notes.add({.severity = third ? Severity::unknown : Severity::contradiction,
               .line = one.row->line,
               .printed = one.printed,
               .computed = one.formula,
               .meaning = third ? "the factor may be over something else than the row's times"
                                : "the factor does not follow from the times of its row",
               .tolerance = one.tolerance});
  }
}

}  // namespace wb::audit
