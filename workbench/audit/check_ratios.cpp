// SPDX-License-Identifier: MIT
// Checks ratios that words tell: "22x slower" and "1.8x faster" in the cells of rows with two
// times, and ranges of slowdowns that prose claims of the measured pairs.
#include <fmt/format.h>

#include <algorithm>
#include <array>

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

/// Whether the text compares with the reference: "slower" alone, or "slower than X" if X is a
/// reference.
bool names_reference(const std::string& rest) {
  constexpr std::size_t k_close_by = 12;  // npos is larger, too
  const std::size_t than = rest.find("than ");
  if (than > k_close_by) return true;
  return is_reference(rest.substr(than, 40));
}

/// Whether the line, or the one above it, is about what was claimed or estimated before the
/// measurement.
bool speaks_of_claims(const Document& document, int number) {
  static constexpr std::array<std::string_view, 10> k_words{
      "claim",    "claims",    "claimed",   "estimate",  "estimates",
      "expected", "incorrect", "predicted", "projected", "estimated"};
  for (int at = std::max(1, number - 2); at <= number; ++at) {
    const std::string& lower = document.at(at).lower;
    if (std::any_of(k_words.begin(), k_words.end(),
                    [&](auto word) { return has_word(lower, word); })) {
      return true;
    }
  }
  return false;
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

void check_slowdown_claims(const Facts& facts, Notes& notes) {
  std::vector<std::pair<double, const Pair*>> slower;
  for (const Pair& pair : facts.pairs) {
    if (pair.ours.value > pair.reference.value) {
      slower.emplace_back(pair.ours.value / pair.reference.value, &pair);
    }
  }
  if (slower.size() < 2) return;
  std::sort(slower.begin(), slower.end(), [](auto& a, auto& b) { return a.first < b.first; });
  const auto& [least, least_pair] = slower.front();
  const auto& [most, most_pair] = slower.back();
  const auto least_ratio = divide(least_pair->ours.operand(), least_pair->reference.operand());
  const auto most_ratio = divide(most_pair->ours.operand(), most_pair->reference.operand());
  if (!least_ratio || !most_ratio) return;
  // If most rows are not slower, a range of slowdowns describes a group of them.
  const bool mostly = 2 * slower.size() > facts.pairs.size();
  for (const Line& line : facts.document.lines) {
    if (line.in_table) continue;
    for (const Figure& figure : facts.of(line.number)) {
      const std::string rest = line.lower.substr(figure.end);
      const bool slow = trimmed(rest).starts_with("slower");
      if (figure.unit != Unit::factor || !figure.is_range || !slow) continue;
      // A forecast does not describe the measurements.
      const std::string before = line.lower.substr(0, figure.begin);
      if (!shape_in(line.plain).empty() || !names_reference(rest) ||
          before.find("->") != std::string::npos || before.find("after") != std::string::npos ||
          before.find("expected") != std::string::npos) {
        continue;
      }
      const std::string formula = fmt::format(
          "line {}: {} / {} = {}; line {}: {} / {} = {}", least_pair->line, full(least_pair->ours),
          full(least_pair->reference), show(least, Unit::factor), most_pair->line,
          full(most_pair->ours), full(most_pair->reference), show(most, Unit::factor));
      if (figure.result().meets(*least_ratio) && figure.result(true).meets(*most_ratio)) {
        notes.held(line.number, formula + ", printed " + figure.printed + " slower");
      } else {
        // "0.3x slower" may mean 30 % more time, and a report may quote a claim to refute it.
        const bool sure =
            mostly && figure.value >= 1 && !speaks_of_claims(facts.document, line.number);
        notes.add({.severity = sure ? Severity::contradiction : Severity::doubtful,
                   .line = line.number,
                   .printed = figure.printed + " slower",
                   .computed = formula,
                   .meaning = mostly
                                  ? "the range is not that of the measured rows"
                                  : "the range is not that of the slower rows; it may be of others",
                   .tolerance = tolerance_of(figure),
                   .also = {least_pair->line, most_pair->line}});
      }
    }
  }
}

}  // namespace wb::audit
