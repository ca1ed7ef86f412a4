// SPDX-License-Identifier: MIT
// Private to audit: cells with a single plain figure, the ratios of a table, and rows that are
// metrics. Used by the checks of ratios and quantiles.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "audit/facts.hpp"

namespace wb::audit {

/// The only figure of a cell, apart from marks and brackets; nothing for a range, a bound or two
/// values.
std::optional<Figure> whole_figure(const TableFacts& table, const Row& row, std::size_t column);
/// The ratio of a cell: "2.00x", "0.49x (2.0x slower)", "1.0"; round integers are approximate.
std::optional<Figure> ratio_figure(const TableFacts& table, const Row& row, std::size_t column);
/// Widens "30x", which may be 28.7 rounded to tens.
void open_round(Figure& figure);

struct Quotient {
  Figure top, bottom;
  Interval value;
  Interval alike;  ///< value if K, M … mean the same power in both
  std::vector<int> lines;
};
/// Nothing when a figure is missing or not above 0, or when the units differ.
std::optional<Quotient> quotient_of(const Row& over, const std::optional<Figure>& top,
                                    const Row& under, const std::optional<Figure>& bottom);

/// Columns of ratios, by their header or, if that is ambiguous, by their cells.
std::vector<std::size_t> ratio_columns(const TableFacts& table);

/// A column of times or rates.
struct ValueColumn {
  std::size_t column = 0;
  bool is_rate = false;
  bool inferred = false;  ///< the unit is in its cells, not in its header
};
std::vector<ValueColumn> value_columns(const TableFacts& table);

/// True for "p50" and "p99", "ours min" and "ours max": one subject, and so no pair.
bool same_subject(const TableFacts& table, std::size_t first, std::size_t second);

/// "latency (ms) | 0.5 | 0.2 | 2.5x": checks a table whose rows are metrics, with two columns of
/// values.
void check_metric_rows(const TableFacts& table, Notes& notes);

/// Checks "2.0x slower" in the cells of a table with two times (check_ratios.cpp).
void check_ratio_cells(const TableFacts& table, const std::vector<std::size_t>& times,
                       Notes& notes);

/// True for a row called mean, total …, since a mean of ratios is no ratio of means.
bool is_aggregate(const Row& row);

}  // namespace wb::audit
