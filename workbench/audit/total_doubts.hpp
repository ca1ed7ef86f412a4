// SPDX-License-Identifier: MIT
// Private to audit: why a table's total may be right although it is not the sum of the figures
// above it. Used by the checks of table totals.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/facts.hpp"
#include "audit/sums.hpp"

namespace wb::audit {

/// A printed total and the sum of its possible parts.
struct Total {
  Figure printed;
  Sum sum;
  double least = 0, most = 0;       ///< of the parts, in row order
  std::vector<double> values = {};  ///< of the parts, in the order of the rows
  bool measured = false;            ///< times and rates, which may be measured separately
  bool gaps = false;                ///< a row with other figures has none in this column
  std::size_t column = 0;
};

/// True when the figures add up to the printed total.
bool is_sum(const Total& one);
/// True for columns and rows whose figures are no parts of a whole: means, shares, ranks, targets
/// and limits. `name` in lower case.
bool is_no_sum(std::string_view name);
/// True for a row that is no part beside the others: made of them ("average", "of which"), or
/// subtracted from them ("discount"). `label` in lower case.
bool is_no_part(std::string_view label);
/// True when the total is so far above its parts that it may count unlisted ones.
bool is_far(const Total& one);

/// True for groups with the sum of their rows above them ("Domain 2,963 | models 1,245 | …"): a row
/// that equals the sum of the rows after it. A single one, and small or equal figures, may be a
/// coincidence.
bool has_headings(const Total& one);

/// What a table says about all its totals.
struct Scope {
  const Facts& facts;
  const TableFacts& table;
  std::string label;         ///< of the total row, in lower case
  bool distinct = false;     ///< it says that things are counted once, or listed twice
  bool partial = false;      ///< it lists only some of many
  bool adjusted = false;     ///< a total was changed afterwards
  bool nested = false;       ///< a column has headings with the sums of their rows
  bool row_is_more = false;  ///< the row's totals count unlisted parts
};
Scope scope_of(const Facts& facts, const TableFacts& table, const Row& row);
/// True for "total", or for words that the column has too: "total tests" below "tests".
bool is_named(const Scope& scope, std::size_t column);
/// The reason why a total that is not the sum of its parts may be right.
std::optional<std::string_view> doubt_of(const Total& one, const Scope& scope);

}  // namespace wb::audit
