// SPDX-License-Identifier: MIT
// Private to audit: a column of ratios with all its possible readings, since tables seldom say what
// is divided: one time of the row by the other, a base row by this one, the previous row by this
// one. check_ratio_columns decides between them.
#pragma once

#include <optional>
#include <vector>

#include "audit/checks.hpp"
#include "audit/ratios.hpp"

namespace wb::audit {

/// pair: two columns of a row; base, previous, any: a row over a base row, the previous row, any
/// row.
enum class ReadingKind { pair, base, previous, any };

/// One reading of a column, with its quotient in each row.
struct Reading {
  ReadingKind kind = ReadingKind::pair;
  std::size_t over = 0, under = 0;  ///< columns
  bool speedup = true;              ///< larger is better, as in a column named speedup
  std::vector<std::optional<Quotient>> rows;
  std::size_t fits = 0, tried = 0;
  bool about = false;  ///< its base is printed as "~1.0x", which may be a result
};

class RatioColumn {
 public:
  /// `alone`: the only column of ratios in its table. The table must outlive this.
  RatioColumn(const TableFacts& table, std::size_t column, bool alone);

 protected:
  /// True for "best", "p50": a statistic of several samples.
  bool is_statistic(std::size_t column) const;
  /// True for "vs. orjson" when a row has that name: the ratio is over that row.
  bool names_row() const;
  /// True for headers merged over several columns and for times of day ("11:30:45"): the ratio's
  /// terms may be in parts that were not read.
  bool has_unread() const;
  /// "direct | gateway | choice | improvement": the ratio says how much faster the chosen one is.
  bool is_of_choice(const Reading& reading, std::size_t row) const;
  /// True when a line after the table says that this row's ratio is no plain quotient:
  /// conservative, from figures with outliers.
  bool is_qualified(const Facts& facts, std::size_t row) const;
  /// Number of time columns; with `inferred`, also those recognized only by position or unit.
  std::size_t times(bool inferred) const;

  const TableFacts& m_table;
  const std::vector<Row>& m_rows;
  std::size_t m_column;
  bool m_alone;
  std::vector<std::optional<Figure>> m_printed;  ///< by row
  std::vector<ValueColumn> m_values;             ///< columns that may be divided
  std::vector<Reading> m_readings;

 private:
  void read_all();
  void over_bases(const ValueColumn& value, bool speedup, const std::vector<std::size_t>& ones);
  void add(Reading reading);
  std::optional<Quotient> quotient(std::size_t top_row, std::size_t over, std::size_t bottom_row,
                                   std::size_t under) const;
  template <class Base>
  Reading over(const ValueColumn& value, bool speedup, ReadingKind kind, Base base_of) const;
};

}  // namespace wb::audit
