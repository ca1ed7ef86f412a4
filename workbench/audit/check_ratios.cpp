// SPDX-License-Identifier: MIT
// Ratios in tables against the two times of their row, and ranges claimed in prose against the
// measured pairs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

struct RatioRow {
  const Row* row;
  Figure printed;
  Figure first, second;
  bool up = false, down = false;  ///< equals first / second, second / first
};

std::vector<RatioRow> ratio_rows(const TableFacts& table, std::size_t column,
                                 const std::vector<std::size_t>& times) {
  std::vector<RatioRow> rows;
  for (const Row& row : table.table->rows) {
    const auto printed = table.figure(row, column);
    const auto first = table.figure(row, times[0]), second = table.figure(row, times[1]);
    if (!printed || !first || !second) continue;
    if (printed->unit != Unit::factor && printed->unit != Unit::none) continue;
    if (first->value <= 0 || second->value <= 0) continue;
    RatioRow made{&row, *printed, *first, *second};
    const auto up = divide(first->whole(), second->whole());
    const auto down = divide(second->whole(), first->whole());
    made.up = up && printed->result().meets(*up);
    made.down = down && printed->result().meets(*down);
    rows.push_back(std::move(made));
  }
  return rows;
}

/// "p50" and "p99", "ours min" and "ours max": of one subject, and so no pair.
bool same_subject(const TableFacts& table, const std::vector<std::size_t>& times) {
  static constexpr std::array<std::string_view, 14> k_quantiles{
      "p10", "p50",     "p90", "p95", "p99",  "median", "mean",
      "avg", "average", "min", "max", "best", "worst",  "std"};
  std::array<std::string, 2> subjects;
  for (std::size_t n = 0; n < 2; ++n) {
    subjects[n] = table.columns[times[n]].name;
    bool any = false;
    for (const std::string_view word : k_quantiles) {
      const auto at = find_word(subjects[n], word);
      if (!at) continue;
      subjects[n] = trimmed(subjects[n].erase(*at, word.size()));
      any = true;
    }
    if (!any) return false;
  }
  return subjects[0] == subjects[1];
}

void judge(const TableFacts& table, const std::vector<RatioRow>& rows,
           const std::vector<std::size_t>& times, Notes& notes) {
  const auto ups = std::count_if(rows.begin(), rows.end(), [](auto& row) { return row.up; });
  const auto downs = std::count_if(rows.begin(), rows.end(), [](auto& row) { return row.down; });
  const bool up = ups >= downs;
  // Where the two are no pair, a ratio that is theirs in some rows only is theirs in none.
  const auto most = std::max(ups, downs), all = static_cast<std::ptrdiff_t>(rows.size());
  if (same_subject(table, times) ? most < all : most * 2 < all) {
    notes.add({.severity = Severity::unknown,
               .line = rows.front().row->line,
               .printed = fmt::format("{} ratios", rows.size()),
               .computed = fmt::format("{} are one time of their row over the other", most),
               .meaning = "what the column divides by what is not said"});
    return;
  }
  const std::string over = table.columns[times[up ? 0 : 1]].name,
                    under = table.columns[times[up ? 1 : 0]].name;
  for (const RatioRow& row : rows) {
    const Figure &top = up ? row.first : row.second, &bottom = up ? row.second : row.first;
    const auto ratio = divide(top.whole(), bottom.whole());
    if (!ratio) continue;
    const std::string formula = fmt::format("{} / {}: {} / {} = {}", over, under, full(top),
                                            full(bottom), show(*ratio, Unit::factor));
    if (up ? row.up : row.down) {
      notes.held(row.row->line, formula + ", printed " + row.printed.printed);
    } else {
      const bool turned = up ? row.down : row.up;
      notes.add({.line = row.row->line,
                 .printed = row.printed.printed,
                 .computed = formula,
                 .meaning = turned ? "the ratio is turned around, beside the other rows"
                                   : "the ratio does not follow from the times of its row",
                 .tolerance = tolerance_of(row.printed)});
    }
  }
}

/// "22x slower", "1.8x faster" in any cell of a row with two times.
void check_cells(const TableFacts& table, const std::vector<std::size_t>& times, Notes& notes) {
  for (const Row& row : table.table->rows) {
    const auto first = table.figure(row, times[0]), second = table.figure(row, times[1]);
    if (!first || !second || first->value <= 0 || second->value <= 0) continue;
    for (const std::string& cell : row.cells) {
      for (const Figure& figure : figures_in(cell)) {
        const std::string rest = trimmed(std::string_view(cell).substr(figure.end));
        if (figure.unit != Unit::factor || figure.is_range ||
            (!rest.starts_with("slower") && !rest.starts_with("faster"))) {
          continue;
        }
        const Figure& longer = first->value > second->value ? *first : *second;
        const Figure& shorter = first->value > second->value ? *second : *first;
        const auto ratio = divide(longer.whole(), shorter.whole());
        if (!ratio) continue;
        const std::string formula =
            fmt::format("{} / {} = {}", full(longer), full(shorter), show(*ratio, Unit::factor));
        if (figure.result().meets(*ratio)) {
          notes.held(row.line, formula + ", printed " + figure.printed);
        } else {
          notes.add({.line = row.line,
                     .printed = figure.printed + " " + rest.substr(0, 6),
                     .computed = formula,
                     .meaning = "the factor does not follow from the times of its row",
                     .tolerance = tolerance_of(figure)});
        }
      }
    }
  }
}

/// "vs B=1": times over that of the first row.
void check_over_first(const TableFacts& table, std::size_t time, Notes& notes) {
  if (table.table->rows.size() < 2) return;
  const auto first = table.figure(table.table->rows.front(), time);
  if (!first || first->value <= 0) return;
  for (const std::size_t column : table.of(Role::ratio)) {
    const auto one = table.figure(table.table->rows.front(), column);
    if (!one || one->unit != Unit::factor || one->value != 1) continue;
    for (const Row& row : table.table->rows) {
      const auto printed = table.figure(row, column), now = table.figure(row, time);
      if (!printed || !now || printed->unit != Unit::factor) continue;
      const auto ratio = divide(now->whole(), first->whole());
      if (!ratio) continue;
      const std::string formula =
          fmt::format("{} / {} = {}", full(*now), full(*first), show(*ratio, Unit::factor));
      if (printed->result().meets(*ratio)) {
        notes.held(row.line, formula + ", printed " + printed->printed);
      } else {
        notes.add({.line = row.line,
                   .printed = printed->printed,
                   .computed = formula,
                   .meaning = "the factor over the first row does not follow from the times",
                   .tolerance = tolerance_of(*printed)});
      }
    }
  }
}

/// "slower than X" is about the pairs only where X is a reference; "slower" alone is.
bool names_reference(const std::string& rest) {
  constexpr std::size_t k_close_by = 12;  // npos is farther, too
  const std::size_t than = rest.find("than ");
  if (than > k_close_by) return true;
  return is_reference(rest.substr(than, 40));
}

}  // namespace

void check_ratio_columns(const Facts& facts, Notes& notes) {
  for (const TableFacts& table : facts.tables) {
    const std::vector<std::size_t> times = table.of(Role::time);
    if (times.size() == 1) check_over_first(table, times[0], notes);
    if (times.size() != 2) continue;
    for (const std::size_t column : table.of(Role::ratio)) {
      judge(table, ratio_rows(table, column, times), times, notes);
    }
    // Of two times of one side, such as quantiles, "3x faster" is about neither.
    if (table.columns[times[0]].reference != table.columns[times[1]].reference) {
      check_cells(table, times, notes);
    }
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
  for (const Line& line : facts.document.lines) {
    if (line.in_table) continue;
    for (const Figure& figure : facts.of(line.number)) {
      const std::string rest = line.lower.substr(figure.end);
      const bool slow = trimmed(rest).starts_with("slower");
      if (figure.unit != Unit::factor || !figure.is_range || !slow) continue;
      // A forecast is not about what was measured.
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
        notes.add({.line = line.number,
                   .printed = figure.printed + " slower",
                   .computed = formula,
                   .meaning = "the range is not that of the measured rows",
                   .tolerance = tolerance_of(figure),
                   .also = {least_pair->line, most_pair->line}});
      }
    }
  }
}

}  // namespace wb::audit
