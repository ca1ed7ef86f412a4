// SPDX-License-Identifier: MIT
// Totals against their parts: rows and columns of tables, lists that end in a total, sums in
// brackets.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "audit/checks.hpp"
#include "audit/sums.hpp"

namespace wb::audit {
namespace {

constexpr std::size_t k_most_parts = 64;  ///< of a list

bool adds_up(Unit unit) {
  return unit == Unit::none || unit == Unit::time || unit == Unit::bytes || unit == Unit::money ||
         unit == Unit::flops;
}

constexpr std::array<std::string_view, 12> k_no_sums{"avg",     "average", "mean",       "median",
                                                     "max",     "min",     "rate",       "per",
                                                     "speedup", "ratio",   "efficiency", "share"};

bool sums_make_sense(const Column& column) {
  if (column.role != Role::other && column.role != Role::time) return false;
  return std::none_of(k_no_sums.begin(), k_no_sums.end(),
                      [&](auto word) { return has_word(column.name, word); });
}

/// The whole cell is one figure: "61.4", "$0.60", "180 min".
std::optional<Figure> whole_cell(const TableFacts& table, const Row& row, std::size_t column) {
  const std::string& cell = cell_of(row, column);
  auto figure = table.figure(row, column);
  if (!figure || figure->is_range || figure->bounded) return std::nullopt;
  const std::string rest = trimmed(std::string_view(cell).substr(figure->end));
  if (figure->begin != 0 || !rest.empty()) return std::nullopt;
  return figure;
}

void check_columns(const TableFacts& table, Notes& notes) {
  if (!table.table->complete) return;
  const auto& rows = table.table->rows;
  std::size_t from = 0;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const bool total = !rows[n].cells.empty() && is_total(rows[n].cells.front());
    if (!total) continue;
    for (std::size_t column = 1; column < table.columns.size(); ++column) {
      const auto printed = whole_cell(table, rows[n], column);
      if (!printed || !adds_up(printed->unit) || !sums_make_sense(table.columns[column])) continue;
      Sum sum;
      bool whole = n - from >= 2;
      for (std::size_t up = from; up < n && whole; ++up) {
        const std::string cell = lower_of(cell_of(rows[up], column));
        if (cell.empty() || cell == "none" || cell == "-" || cell == "n/a") continue;
        const auto part = whole_cell(table, rows[up], column);
        whole = part && part->unit == printed->unit;
        if (whole) add(sum, *part);
      }
      if (whole && sum.parts.size() >= 2)
        judge_sum(rows[n].line, *printed, sum, "the total", notes);
    }
    from = n + 1;
  }
}

void check_rows(const TableFacts& table, Notes& notes) {
  for (std::size_t column = 2; column < table.columns.size(); ++column) {
    if (table.columns[column].name != "total" && table.columns[column].name != "sum") continue;
    for (const Row& row : table.table->rows) {
      const auto printed = whole_cell(table, row, column);
      if (!printed || !adds_up(printed->unit)) continue;
      Sum sum;
      for (std::size_t n = 1; n < column; ++n) {
        const auto part = whole_cell(table, row, n);
        if (part && part->unit == printed->unit && sums_make_sense(table.columns[n])) {
          add(sum, *part);
        }
      }
      if (sum.parts.size() >= 2) judge_sum(row.line, *printed, sum, "the row's total", notes);
    }
  }
}

/// "$0.90 (GPU $0.15 + AI $0.75)".
void check_brackets(const Facts& facts, const Line& line, Notes& notes) {
  const auto& figures = facts.of(line.number);
  for (std::size_t n = 0; n + 2 < figures.size(); ++n) {
    const Figure& printed = figures[n];
    if (!adds_up(printed.unit) || printed.unit == Unit::none || printed.is_range) continue;
    if (trimmed(line.plain.substr(printed.end, 3)).substr(0, 1) != "(") continue;
    Sum sum;
    std::size_t at = n + 1;
    for (; at < figures.size() && figures[at].unit == printed.unit; ++at) {
      const std::string between =
          line.plain.substr(figures[at - 1].end, figures[at].begin - figures[at - 1].end);
      const bool joined = between.find(at == n + 1 ? '(' : '+') != std::string::npos;
      if (!joined || between.find(')') != std::string::npos) break;
      add(sum, figures[at]);
    }
    if (sum.parts.size() >= 2) judge_sum(line.number, printed, sum, "the figure", notes);
  }
}

/// The figure that a list's item comes to: behind its last "=", else its only one.
std::optional<Figure> item_figure(const Facts& facts, const Line& line) {
  const auto& figures = facts.of(line.number);
  const auto label = label_of(line.plain);
  if (!label || figures.empty()) return std::nullopt;
  const std::size_t equals = line.plain.rfind('=');
  for (const Figure& figure : figures) {
    const bool after =
        equals == std::string::npos ? figure.begin >= label->rest : figure.begin > equals;
    if (after && !figure.bounded) return figure;
  }
  return std::nullopt;
}

void judge_product(int line, const Figure& printed, const std::vector<Figure>& parts,
                   Notes& notes) {
  Interval low{1, 1}, high{1, 1};
  std::vector<std::string> words;
  for (const Figure& part : parts) {
    // The ends of a range are round figures: taken as they stand.
    low = low * Interval{part.value, part.value};
    high = high * Interval{part.high, part.high};
    words.push_back(part.printed);
  }
  const std::string formula = fmt::format("{} = {}-{}", fmt::join(words, " x "), show(low.low),
                                          show(high.high, Unit::factor));
  const auto near = [](double value, double wanted) {
    return std::abs(value - wanted) <= 0.1 * wanted;
  };
  if (near(printed.value, low.low) && near(printed.high, high.high)) {
    notes.held(line, formula + ", printed " + printed.printed);
  } else {
    notes.add({.line = line,
               .printed = printed.printed,
               .computed = formula,
               .meaning = "factors of successive steps multiply; the total is not their product",
               .tolerance = "10 %"});
  }
}

}  // namespace

void check_table_totals(const Facts& facts, Notes& notes) {
  for (const TableFacts& table : facts.tables) {
    check_columns(table, notes);
    check_rows(table, notes);
  }
}

void check_list_totals(const Facts& facts, Notes& notes) {
  const auto& lines = facts.document.lines;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    check_brackets(facts, lines[n], notes);
    const auto label = label_of(lines[n].plain);
    if (!label || !label->label.starts_with("total") || lines[n].in_table) continue;
    const auto printed = item_figure(facts, lines[n]);
    if (!printed) continue;
    std::vector<Figure> parts;
    for (std::size_t up = n; up-- > 0;) {
      if (trimmed(lines[up].plain).empty()) {
        if (parts.empty() && up + 1 == n) continue;
        break;
      }
      if (!lines[up].item || lines[up].in_table) break;
      if (parts.size() == k_most_parts) {
        parts.clear();  // of a part of the list nothing can be told
        break;
      }
      const bool nested = lines[n].item && lines[up].indent < lines[n].indent;
      if (nested) break;
      const auto part = item_figure(facts, lines[up]);
      if (!part || part->unit != printed->unit) break;
      parts.insert(parts.begin(), *part);
    }
    if (parts.size() < 2) continue;
    if (printed->unit == Unit::factor) {
      judge_product(lines[n].number, *printed, parts, notes);
    } else if (adds_up(printed->unit) && printed->unit != Unit::none && !printed->is_range) {
      Sum sum;
      for (const Figure& part : parts) add(sum, part);
      if (std::none_of(parts.begin(), parts.end(), [](auto& part) { return part.is_range; })) {
        judge_sum(lines[n].number, *printed, sum, "the total", notes);
      }
    }
  }
}

}  // namespace wb::audit
