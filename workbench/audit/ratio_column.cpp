// SPDX-License-Identifier: MIT
#include "audit/ratio_column.hpp"

#include <algorithm>
#include <array>

#include "core/ascii.hpp"

namespace wb::audit {
namespace {

/// Rows of a table for which every row is tried as the base.
constexpr std::size_t k_most_rows = 200;

}  // namespace

RatioColumn::RatioColumn(const TableFacts& table, std::size_t column, bool alone)
    : m_table(table), m_rows(table.table->rows), m_column(column), m_alone(alone) {
  for (const Row& row : m_rows) {
    m_printed.push_back(is_aggregate(row) ? std::nullopt : ratio_figure(table, row, column));
  }
  m_values = value_columns(table);
  const bool any =
      std::any_of(m_printed.begin(), m_printed.end(), [](auto& one) { return one.has_value(); });
  if (any) read_all();
}

void RatioColumn::read_all() {
  for (const ValueColumn& a : m_values) {
    for (const ValueColumn& b : m_values) {
      if (a.column == b.column || a.is_rate != b.is_rate) continue;
      Reading reading{ReadingKind::pair, a.column, b.column, true, {}};
      for (std::size_t n = 0; n < m_rows.size(); ++n) {
        reading.rows.push_back(quotient(n, a.column, n, b.column));
      }
      add(std::move(reading));
    }
  }
  std::vector<std::size_t> ones;
  for (std::size_t n = 0; n < m_rows.size(); ++n) {
    if (m_printed[n] && m_printed[n]->value == 1) ones.push_back(n);
  }
  for (const ValueColumn& value : m_values) {
    for (const bool speedup : {true, false}) {
      over_bases(value, speedup, ones);
    }
  }
}

template <class Base>
Reading RatioColumn::over(const ValueColumn& value, bool speedup, ReadingKind kind,
                          Base base_of) const {
  Reading reading{kind, value.column, value.column, speedup, {}};
  for (std::size_t n = 0; n < m_rows.size(); ++n) {
    const std::optional<std::size_t> base = base_of(n);
    if (!base || *base == n) {
      reading.rows.emplace_back();
      continue;
    }
    const bool base_first = speedup != value.is_rate;
    reading.rows.push_back(base_first ? quotient(*base, value.column, n, value.column)
                                      : quotient(n, value.column, *base, value.column));
  }
  return reading;
}

void RatioColumn::over_bases(const ValueColumn& value, bool speedup,
                             const std::vector<std::size_t>& ones) {
  // Divided by the nearest row above with a ratio of 1, by any one row, or by the row before.
  const auto is_about = [&](std::size_t one) { return m_printed[one]->approximate; };
  if (ones.size() > 1) {
    Reading nearest = over(value, speedup, ReadingKind::base, [&](std::size_t n) {
      std::optional<std::size_t> base;
      for (const std::size_t one : ones) {
        if (one <= n) base = one;
      }
      return base;
    });
    nearest.about = std::any_of(ones.begin(), ones.end(), is_about);
    add(std::move(nearest));
  }
  for (const std::size_t one : ones) {
    Reading single =
        over(value, speedup, ReadingKind::base, [&](std::size_t) { return std::optional(one); });
    single.about = is_about(one);
    add(std::move(single));
  }
  add(over(value, speedup, ReadingKind::previous,
           [](std::size_t n) { return n > 0 ? std::optional(n - 1) : std::nullopt; }));
  if (m_rows.size() > k_most_rows) return;
  for (std::size_t base = 0; base < m_rows.size(); ++base) {
    if (std::find(ones.begin(), ones.end(), base) != ones.end()) continue;
    add(over(value, speedup, ReadingKind::any, [&](std::size_t) { return std::optional(base); }));
  }
}

void RatioColumn::add(Reading reading) {
  for (std::size_t n = 0; n < m_rows.size(); ++n) {
    if (!m_printed[n] || !reading.rows[n]) continue;
    // Two times with an error of half their value are consistent with nearly every ratio.
    const Interval& value = reading.rows[n]->value;
    if (reading.kind == ReadingKind::pair && value.high > 1.5 * value.low) continue;
    // An approximate or round figure ("10x") confirms nothing.
    if (m_printed[n]->approximate || m_printed[n]->step > 1) continue;
    // A ratio of 1 names a possible base row but does not confirm a reading.
    if (reading.kind != ReadingKind::pair && m_printed[n]->value == 1) continue;
    ++reading.tried;
    reading.fits += m_printed[n]->result().meets(reading.rows[n]->alike) ? 1 : 0;
  }
  m_readings.push_back(std::move(reading));
}

std::optional<Quotient> RatioColumn::quotient(std::size_t top_row, std::size_t over,
                                              std::size_t bottom_row, std::size_t under) const {
  const auto top = whole_figure(m_table, m_rows[top_row], over);
  const auto bottom = whole_figure(m_table, m_rows[bottom_row], under);
  return quotient_of(m_rows[top_row], top, m_rows[bottom_row], bottom);
}

bool RatioColumn::is_statistic(std::size_t column) const {
  static constexpr std::array<std::string_view, 9> k_words{
      "median", "p50", "mean", "avg", "average", "best", "min", "minimum", "geomean"};
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](auto word) { return has_word(m_table.columns[column].name, word); });
}

bool RatioColumn::names_row() const {
  const std::string header = lower_of(m_table.table->headers[m_column]);
  return std::any_of(m_rows.begin(), m_rows.end(), [&](const Row& row) {
    const std::string label = lower_of(cell_of(row, 0));
    return label.size() > 1 && has_word(header, label);
  });
}

bool RatioColumn::has_unread() const {
  const auto& headers = m_table.table->headers;
  const auto empty = std::count_if(headers.begin(), headers.end(),
                                   [](const std::string& header) { return header.empty(); });
  const bool merged = empty >= (headers.front().empty() ? 3 : 2);
  const auto is_clock = [](const std::string& cell) {
    const std::size_t colon = cell.find(':');
    return colon != std::string::npos && colon > 0 && colon + 2 < cell.size() &&
           ascii::is_digit(cell[colon - 1]) && ascii::is_digit(cell[colon + 1]) &&
           ascii::is_digit(cell[colon + 2]);
  };
  return merged || std::any_of(m_rows.begin(), m_rows.end(), [&](const Row& row) {
           return std::any_of(row.cells.begin(), row.cells.end(), is_clock);
         });
}

std::size_t RatioColumn::times(bool inferred) const {
  return static_cast<std::size_t>(std::count_if(m_values.begin(), m_values.end(), [&](auto& one) {
    return !one.is_rate && (inferred || !one.inferred);
  }));
}

bool RatioColumn::is_of_choice(const Reading& reading, std::size_t row) const {
  if (reading.kind != ReadingKind::pair) return false;
  static constexpr std::array<std::string_view, 6> k_choices{"winner", "choice", "chosen",
                                                             "best",   "faster", "preferred"};
  for (std::size_t column = 1; column < m_table.columns.size(); ++column) {
    if (column == m_column || column == reading.over || column == reading.under) continue;
    const std::string header = lower_of(m_table.table->headers[column]);
    const std::string cell = lower_of(cell_of(m_rows[row], column));
    for (const std::string_view word : k_choices) {
      if (has_word(header, word)) return true;
    }
    for (const std::size_t side : {reading.over, reading.under}) {
      const std::string& name = m_table.columns[side].name;
      if (name.size() >= 3 && has_word(cell, name)) return true;
    }
  }
  return false;
}

bool RatioColumn::is_qualified(const Facts& facts, std::size_t row) const {
  static constexpr std::array<std::string_view, 9> k_words{
      "conservative", "variance", "outlier",  "outliers",  "noise",
      "noisy",        "jitter",   "unstable", "throttling"};
  constexpr int k_lines = 6;
  const auto& lines = facts.document.lines;
  int read = 0;
  for (auto at = static_cast<std::size_t>(m_rows.back().line); at < lines.size() && read < k_lines;
       ++at) {
    const Line& line = lines[at];
    if (line.in_table || trimmed(line.plain).starts_with('#')) return false;
    if (trimmed(line.plain).empty()) continue;
    ++read;
    if (has_word(line.plain, m_printed[row]->printed) &&
        std::any_of(k_words.begin(), k_words.end(),
                    [&](auto word) { return has_word(line.lower, word); })) {
      return true;
    }
  }
  return false;
}

}  // namespace wb::audit
