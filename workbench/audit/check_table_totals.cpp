// SPDX-License-Identifier: MIT
// Checks totals of tables against their parts: a row or a column called total. total_doubts.hpp
// lists why a differing total may still be right.
#include <algorithm>
#include <array>
#include <optional>

#include "audit/checks.hpp"
#include "audit/sums.hpp"
#include "audit/total_doubts.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

bool sums_make_sense(const Column& column) {
  return (column.role == Role::other || column.role == Role::time) && !is_no_sum(column.name);
}

/// The word after a figure, in the singular: "20 tasks".
std::string word_behind(const std::string& cell, const Figure& figure) {
  std::string rest = lower_of(trimmed(std::string_view(cell).substr(figure.end)));
  if (rest.size() > 2 && rest.ends_with('s')) rest.pop_back();
  const bool is_word = std::all_of(rest.begin(), rest.end(), ascii::is_lower);
  return is_word ? rest : std::string();
}

/// The figure if the whole cell is one: "61.4", "$0.60", "180 min". "20 tasks" counts if every
/// other cell with a digit in the column counts tasks, too.
std::optional<Figure> whole_cell(const TableFacts& table, const Row& row, std::size_t column) {
  const std::string& cell = cell_of(row, column);
  auto figure = table.figure(row, column);
  if (!figure || figure->is_range || figure->bounded) return std::nullopt;
  const std::string rest = trimmed(std::string_view(cell).substr(figure->end));
  if (figure->begin != 0) return std::nullopt;
  if (rest.empty()) return figure;
  const std::string word = word_behind(cell, *figure);
  const bool same =
      !word.empty() && figure->unit == Unit::none &&
      std::all_of(table.table->rows.begin(), table.table->rows.end(), [&](const Row& other) {
        const std::string& there = cell_of(other, column);
        const auto one = table.figure(other, column);
        return one ? one->begin == 0 && word_behind(there, *one) == word
                   : there.find_first_of("0123456789") == std::string::npos;
      });
  return same ? figure : std::nullopt;
}

/// Whether the column holds measurements: "messages/sec", "qps", or "metric (ns)" above the labels,
/// which gives the unit of all columns.
bool is_measured(const TableFacts& table, std::size_t column) {
  static constexpr std::array<std::string_view, 8> k_rates{"/s",  "/min", "per sec", "qps",
                                                           "rps", "tps",  "ops",     "iops"};
  const std::string header = lower_of(table.table->headers[column]);
  return table.columns[column].unit == Unit::time || table.columns[0].unit == Unit::time ||
         std::any_of(k_rates.begin(), k_rates.end(),
                     [&](auto word) { return header.find(word) != std::string::npos; });
}

/// Whether the cell has no figure and nothing that may stand for one.
bool is_empty(const std::string& cell) {
  const std::string lower = lower_of(cell);
  return lower.empty() || lower == "none" || lower == "-" || lower == "n/a";
}

/// Whether only this cell of the row is empty: "-" may mean none or not counted.
bool is_gap(const Row& row, std::size_t column) {
  if (lower_of(cell_of(row, column)) == "none") return false;
  for (std::size_t other = 1; other < row.cells.size(); ++other) {
    if (other != column && figure_at(row.cells[other], 0)) return true;
  }
  return false;
}

/// The total in a cell and the figures above it; nothing if one of them was not read completely.
std::optional<Total> total_in(const TableFacts& table, std::size_t from, std::size_t row,
                              std::size_t column) {
  const auto& rows = table.table->rows;
  const auto printed = whole_cell(table, rows[row], column);
  if (!printed || !adds_up(printed->unit) || !sums_make_sense(table.columns[column])) {
    return std::nullopt;
  }
  Total one{.printed = *printed, .sum = {}, .column = column};
  for (std::size_t up = from; up < row; ++up) {
    if (is_empty(cell_of(rows[up], column))) {
      one.gaps = one.gaps || is_gap(rows[up], column);
      continue;
    }
    const auto part = whole_cell(table, rows[up], column);
    if (!part || part->unit != printed->unit || is_no_part(lower_of(cell_of(rows[up], 0)))) {
      return std::nullopt;
    }
    one.least = one.values.empty() ? part->value : std::min(one.least, part->value);
    one.most = std::max(one.most, part->value);
    one.values.push_back(part->value);
    add(one.sum, *part);
  }
  if (one.values.size() < 2) return std::nullopt;
  one.measured = printed->unit == Unit::time || is_measured(table, column);
  return one;
}

/// Whether the totals of all columns are a little too large, or by the same share: then some rows
/// are left out.
bool are_more(const std::vector<Total>& totals) {
  constexpr double k_little = 0.05, k_alike = 1.2;
  if (totals.size() < 2) return false;
  double least = 1e9, most = 0;
  for (const Total& one : totals) {
    const double more = one.printed.value / one.sum.value - 1;
    if (is_sum(one) || more <= 0) return false;
    least = std::min(least, more);
    most = std::max(most, more);
  }
  return most <= k_little || most <= k_alike * least;
}

void check_columns(const Facts& facts, const TableFacts& table, Notes& notes) {
  if (!table.table->complete) return;
  const auto& rows = table.table->rows;
  std::size_t from = 0;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (rows[n].cells.empty() || !is_total(rows[n].cells.front())) continue;
    std::vector<Total> totals;
    for (std::size_t column = 1; column < table.columns.size(); ++column) {
      if (auto one = total_in(table, from, n, column)) totals.push_back(std::move(*one));
    }
    Scope scope = scope_of(facts, table, rows[n]);
    scope.row_is_more = std::any_of(totals.begin(), totals.end(), is_far) || are_more(totals);
    scope.nested = std::any_of(totals.begin(), totals.end(), has_headings);
    // "total lines of code" need not be the sum of the rows above, and "sum" may be a way to merge;
    // another column must confirm it.
    const bool plain =
        scope.label == "total" || scope.label == "totals" || scope.label == "grand total";
    const bool shown = std::any_of(totals.begin(), totals.end(), is_sum);
    for (const Total& one : totals) {
      if (!plain && !shown) continue;
      // A total that does not exceed its largest part is a mean or something else.
      if (one.printed.value <= one.most && !is_sum(one)) continue;
      judge_sum(rows[n].line, one.printed, one.sum, "the total", notes, doubt_of(one, scope));
    }
    from = n + 1;
  }
}

bool has_digit(const std::string& cell) {
  return cell.find_first_of("0123456789") != std::string::npos;
}

/// Whether the column is a rate, "goodput (req/s)", which is no part of a number of requests.
bool tells_rate(const TableFacts& table, std::size_t column) {
  static constexpr std::array<std::string_view, 6> k_rates{"/s",  "/min", "per sec",
                                                           "qps", "rps",  "tps"};
  const std::string header = lower_of(table.table->headers[column]);
  return std::any_of(k_rates.begin(), k_rates.end(),
                     [&](auto word) { return header.find(word) != std::string::npos; });
}

/// The columns before `total` that hold one figure of its unit in most rows. If one of them says
/// something else in a row ("58 (19 + 39)"), that row's total cannot be judged. A count in one row
/// of a column of words ("all 19") is no part.
std::vector<std::size_t> parts_of(const TableFacts& table, std::size_t total) {
  std::vector<std::size_t> parts;
  for (std::size_t column = 1; column < total; ++column) {
    std::size_t filled = 0, figures = 0, fractions = 0;
    for (const Row& row : table.table->rows) {
      const auto printed = whole_cell(table, row, total);
      if (!printed || !has_digit(cell_of(row, column))) continue;
      ++filled;
      const auto part = whole_cell(table, row, column);
      if (!part || part->unit != printed->unit) continue;
      ++figures;
      // "0.43 | 100 | 150": a column of fractions is no part of a number of items.
      fractions += part->step < 1 && printed->unit == Unit::none && printed->step == 1 ? 1 : 0;
    }
    if (figures > fractions && 2 * figures >= filled && sums_make_sense(table.columns[column]) &&
        !tells_rate(table, column)) {
      parts.push_back(column);
    }
  }
  return parts;
}

/// A row's total and the figures before it; nothing if one of them was not read completely.
std::optional<Total> total_of(const TableFacts& table, const Row& row, std::size_t column,
                              const std::vector<std::size_t>& parts) {
  const auto printed = whole_cell(table, row, column);
  if (!printed || !adds_up(printed->unit)) return std::nullopt;
  Total one{.printed = *printed, .sum = {}, .column = column};
  for (const std::size_t n : parts) {
    const auto part = whole_cell(table, row, n);
    if (part && part->unit == printed->unit) {
      one.least = one.values.empty() ? part->value : std::min(one.least, part->value);
      one.most = std::max(one.most, part->value);
      one.values.push_back(part->value);
      add(one.sum, *part);
    } else if (part || has_digit(cell_of(row, n))) {
      return std::nullopt;
    }
  }
  return one.values.size() >= 2 ? std::optional(std::move(one)) : std::nullopt;
}

void check_rows(const TableFacts& table, Notes& notes) {
  for (std::size_t column = 2; column < table.columns.size(); ++column) {
    if (table.columns[column].name != "total" && table.columns[column].name != "sum") continue;
    // The header's word alone does not decide: most rows must be sums of their parts.
    std::vector<std::pair<const Row*, Total>> totals;
    const std::vector<std::size_t> parts = parts_of(table, column);
    for (const Row& row : table.table->rows) {
      if (auto one = total_of(table, row, column, parts)) totals.emplace_back(&row, *one);
    }
    const auto right = static_cast<std::size_t>(
        std::count_if(totals.begin(), totals.end(), [](auto& one) { return is_sum(one.second); }));
    if (2 * right <= totals.size()) continue;
    for (const auto& [row, one] : totals) {
      // "median size | 6 KB | 12 KB | 8 KB" may stand among rows of counts.
      const bool no_sum = is_no_sum(lower_of(cell_of(*row, 0)));
      const bool is_mean = one.printed.value >= one.least && one.printed.value <= one.most;
      if ((no_sum || is_mean) && !is_sum(one)) continue;
      // "$0 | $0 | $3,650": one cost has no column.
      const auto doubt = is_far(one)
                             ? std::optional<std::string_view>("it may count what is not listed")
                             : std::nullopt;
      judge_sum(row->line, one.printed, one.sum, "the row's total", notes, doubt);
    }
  }
}

}  // namespace

void check_table_totals(const Facts& facts, Notes& notes) {
  for (const TableFacts& table : facts.tables) {
    check_columns(facts, table, notes);
    check_rows(table, notes);
    check_table_means(table, notes);
  }
}

}  // namespace wb::audit
