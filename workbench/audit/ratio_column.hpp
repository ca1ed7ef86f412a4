// SPDX-License-Identifier: MIT
// Private to audit: a column of ratios with every reading that tables use. What such a column
// divides is seldom said: one time of the row over the other, a base row over this one, the row
// before over this one. Which reading stands is for check_ratio_columns to judge.
#pragma once

#include <optional>
#include <vector>

#include "audit/checks.hpp"
#include "audit/ratios.hpp"

namespace wb::audit {

/// What is divided: two columns of a row; a row over a base, the row before, or any one row.
enum class ReadingKind { pair, base, previous, any };

/// One reading of a column: by row what is divided by what.
struct Reading {
  ReadingKind kind = ReadingKind::pair;
  std::size_t over = 0, under = 0;  ///< columns
  bool speedup = true;              ///< larger is better, as a column called so has it
  std::vector<std::optional<Quotient>> rows;
  std::size_t fits = 0, tried = 0;
  bool about = false;  ///< its base is told as "~1.0x", which may be an outcome
};

class RatioColumn {
 public:
  /// `alone`: the only column of ratios in its table. The table must outlive it.
  RatioColumn(const TableFacts& table, std::size_t column, bool alone);

 protected:
  /// "best", "p50": of several samples.
  bool is_statistic(std::size_t column) const;
  /// "vs. orjson" beside a row of that name: over that row.
  bool names_row() const;
  /// Headers merged over several columns, times of day ("11:30:45"): what the ratio is of may stand
  /// in what was not read.
  bool has_unread() const;
  /// "direct | gateway | choice | improvement": how much faster the one is that the row chooses.
  bool is_of_choice(const Reading& reading, std::size_t row) const;
  /// A line behind the table says of this row's ratio that it is no plain quotient: conservative,
  /// of figures with outliers.
  bool is_qualified(const Facts& facts, std::size_t row) const;
  /// Columns of times; also those that only their place or unit makes one, where `inferred`.
  std::size_t times(bool inferred) const;

  const TableFacts& m_table;
  const std::vector<Row>& m_rows;
  std::size_t m_column;
  bool m_alone;
  std::vector<std::optional<Figure>> m_printed;  ///< by row
  std::vector<ValueColumn> m_values;             ///< what may be divided
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
