// SPDX-License-Identifier: MIT
// Private to audit: cells that hold one figure and nothing else that changes it, the ratios of a
// table, and rows that are metrics. Used by the checks of ratios and quantiles.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "audit/facts.hpp"

namespace wb::audit {

/// The only figure of a cell, marks and brackets beside; nothing of a range, a bound or two values.
std::optional<Figure> whole_figure(const TableFacts& table, const Row& row, std::size_t column);
/// The same of a ratio: "2.00x", "0.49x (2.0x slower)", "1.0"; round whole ones are approximate.
std::optional<Figure> ratio_figure(const TableFacts& table, const Row& row, std::size_t column);
/// "30x" may be 28.7 rounded to tens.
void open_round(Figure& figure);

struct Quotient {
  Figure top, bottom;
  Interval value;
  Interval alike;  ///< the same where a K, M … of both means the same power
  std::vector<int> lines;
};
/// Nothing where one is missing, not above 0, or the units differ.
std::optional<Quotient> quotient_of(const Row& over, const std::optional<Figure>& top,
                                    const Row& under, const std::optional<Figure>& bottom);

/// Columns whose header, and where it is no sure word whose cells, say that they are ratios.
std::vector<std::size_t> ratio_columns(const TableFacts& table);

/// A column of times or rates.
struct ValueColumn {
  std::size_t column = 0;
  bool is_rate = false;
  bool inferred = false;  ///< its cells have the unit, not its header
};
std::vector<ValueColumn> value_columns(const TableFacts& table);

/// "p50" and "p99", "ours min" and "ours max": of one subject, and so no pair.
bool same_subject(const TableFacts& table, std::size_t first, std::size_t second);

/// "latency (ms) | 0.5 | 0.2 | 2.5x": a table whose rows are metrics, with two columns of values.
void check_metric_rows(const TableFacts& table, Notes& notes);

/// "2.0x slower" in the cells of a table with two times (check_ratio_cells.cpp).
void check_ratio_cells(const TableFacts& table, const std::vector<std::size_t>& times,
                       Notes& notes);

/// A row called mean, total …: a mean of ratios is no ratio of means.
bool is_aggregate(const Row& row);

}  // namespace wb::audit
