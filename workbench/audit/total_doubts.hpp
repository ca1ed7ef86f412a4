// SPDX-License-Identifier: MIT
// Private to audit: why a total of a table may be right though it is not the sum of the figures
// that stand above it. Used by the checks of totals of tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/facts.hpp"
#include "audit/sums.hpp"

namespace wb::audit {

/// A printed total and what it may be the sum of.
struct Total {
  Figure printed;
  Sum sum;
  double least = 0, most = 0;       ///< of the parts
  std::vector<double> values = {};  ///< of the parts, in the order of the rows
  bool measured = false;            ///< times and rates, which may be measured for themselves
  bool gaps = false;                ///< a row that holds other figures has none here
  std::size_t column = 0;
};

/// The figures add up to what is printed.
bool is_sum(const Total& one);
/// Columns and rows whose figures are no parts of a whole: means, shares, ranks; what is aimed at
/// or allowed. `name` in lower case.
bool is_no_sum(std::string_view name);
/// A row that is no part of those beside it: made of them ("average", "of which"), or taken off
/// them ("discount"). `label` in lower case.
bool is_no_part(std::string_view label);
/// So far above its parts that it may count what the table does not list.
bool is_far(const Total& one);

/// Groups with the sums of their rows above them ("Domain 2,963 | models 1,245 | …"): a row that is
/// the sum of those right behind it. One, and small or equal figures, may be so by chance.
bool has_headings(const Total& one);

/// What a table says of all its totals.
struct Scope {
  const Facts& facts;
  const TableFacts& table;
  std::string label;         ///< of the row of totals, in lower case
  bool distinct = false;     ///< it says that things are counted once, or told twice
  bool partial = false;      ///< it says that it lists some of many
  bool adjusted = false;     ///< it says that a total was changed afterwards
  bool nested = false;       ///< a column has headings with the sums of their rows
  bool row_is_more = false;  ///< the totals of the row count what is not listed
};
Scope scope_of(const Facts& facts, const TableFacts& table, const Row& row);
/// "total", or words that its column has, too: "total tests" below "tests".
bool is_named(const Scope& scope, std::size_t column);
/// The reason why a total that is not the sum of its parts may be right.
std::optional<std::string_view> doubt_of(const Total& one, const Scope& scope);

}  // namespace wb::audit
