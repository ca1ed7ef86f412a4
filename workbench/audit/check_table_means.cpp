// SPDX-License-Identifier: MIT
// Checks rows called mean or average against the rows above them. Which mean it is, and of which
// rows, is seldom stated: a figure that matches none of the usual ones raises only a doubt.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/checks.hpp"
#include "audit/quantile_names.hpp"
#include "audit/ratios.hpp"
#include "audit/sums.hpp"

namespace wb::audit {
namespace {

constexpr double k_near_mean = 0.01;  ///< relative difference that rounded inputs may explain

bool is_mean_row(const Row& row) {
  static constexpr std::array<std::string_view, 6> k_labels{
      "mean", "average", "avg", "avg.", "overall average", "arithmetic mean"};
  const std::string label = lower_of(cell_of(row, 0));
  return std::find(k_labels.begin(), k_labels.end(), label) != k_labels.end();
}

/// Whether the rows are statistics of one sample ("min, p50, max, mean"); "sum, min, max, avg" may
/// be operations.
bool are_statistics(const std::vector<Row>& rows, std::size_t from, std::size_t end) {
  for (std::size_t n = from; n < end; ++n) {
    const std::string name = column_named(cell_of(rows[n], 0)).name;
    if (name == "sum" || name == "count" || name == "std" || quantile_of(name)) return true;
  }
  return false;
}

/// A printed mean and the figures above it.
struct Mean {
  std::size_t column = 0;
  Figure printed;
  std::vector<double> values;
  double slack = 0;  ///< what rounding the parts may have hidden

  [[nodiscard]] double arithmetic() const {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }
  [[nodiscard]] bool is(double value) const {
    return printed.result().meets({value - slack, value + slack});
  }
  [[nodiscard]] double least() const { return *std::min_element(values.begin(), values.end()); }
  [[nodiscard]] double most() const { return *std::max_element(values.begin(), values.end()); }
};

/// The mean in a row, or nothing if one of the figures was not read completely.
std::optional<Mean> mean_in(const TableFacts& table, std::size_t from, std::size_t row,
                            std::size_t column) {
  const auto& rows = table.table->rows;
  const auto printed = whole_figure(table, rows[row], column);
  if (!printed || is_spread(table.columns[column].name)) return std::nullopt;
  Mean one{.column = column, .printed = *printed, .values = {}};
  for (std::size_t up = from; up < row; ++up) {
    const auto part = whole_figure(table, rows[up], column);
    if (!part || part->unit != printed->unit) return std::nullopt;
    one.values.push_back(part->value);
    one.slack = std::max(one.slack, part->step / 2);
  }
  return one.values.size() >= 2 ? std::optional(std::move(one)) : std::nullopt;
}

/// Whether the figure is the geometric or the harmonic mean, the median, the sum, or one of the
/// figures themselves.
bool is_another(const Mean& one) {
  std::vector<double> sorted = one.values;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  const double median =
      sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  const auto number = static_cast<double>(sorted.size());
  double logs = 0, inverse = 0;
  for (const double value : sorted) {
    logs += std::log(value);
    inverse += 1 / value;
  }
  const bool positive = sorted.front() > 0;
  return one.is(median) || one.is(one.arithmetic() * number) ||
         (positive && (one.is(std::exp(logs / number)) || one.is(number / inverse))) ||
         std::any_of(sorted.begin(), sorted.end(), [&](double value) { return one.is(value); });
}

/// Whether the figure is a ratio of two means in its row.
bool follows_in_row(const TableFacts& table, const Row& row, const Mean& one) {
  for (std::size_t over = 1; over < table.columns.size(); ++over) {
    for (std::size_t under = 1; under < table.columns.size(); ++under) {
      if (over == under || over == one.column || under == one.column) continue;
      const auto quotient =
          quotient_of(row, whole_figure(table, row, over), row, whole_figure(table, row, under));
      if (quotient && one.printed.result().meets(quotient->value)) return true;
    }
  }
  return false;
}

void judge(const TableFacts& table, const Row& row, const std::vector<Mean>& means, Notes& notes) {
  const auto shown =
      std::count_if(means.begin(), means.end(), [](auto& one) { return one.is(one.arithmetic()); });
  for (const Mean& one : means) {
    const double mean = one.arithmetic();
    const std::string formula =
        fmt::format("the mean of {} figures = {}", one.values.size(), show(mean, one.printed.unit));
    if (one.is(mean)) {
      notes.held(row.line, formula + ", printed " + one.printed.printed);
      continue;
    }
    if (is_another(one) || follows_in_row(table, row, one)) {
      notes.held(row.line, "another mean, or a ratio of two, printed " + one.printed.printed);
      continue;
    }
    const bool outside = one.printed.result().high < one.least() - one.slack ||
                         one.printed.result().low > one.most() + one.slack;
    // Close by it may be of figures that were not rounded yet.
    const bool is_near = std::abs(one.printed.value - mean) <= k_near_mean * mean;
    notes.add(
        {.severity = (outside || shown > 0) && !is_near ? Severity::doubtful : Severity::unknown,
         .line = row.line,
         .printed = one.printed.printed,
         .computed = formula,
         .meaning = is_near     ? "it is close to the mean, and may be of unrounded figures"
                    : outside   ? "a mean lies between the least and the most of its parts"
                    : shown > 0 ? "it is no mean of the rows above, as that of another "
                                  "column is"
                                : "which mean it is, or of which rows, is not said",
         .tolerance = tolerance_of(one.printed)});
  }
}

}  // namespace

void check_table_means(const TableFacts& table, Notes& notes) {
  if (!table.table->complete) return;
  const auto& rows = table.table->rows;
  std::size_t from = 0;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (is_mean_row(rows[n]) && !are_statistics(rows, from, n)) {
      std::vector<Mean> means;
      for (std::size_t column = 1; column < table.columns.size(); ++column) {
        if (auto one = mean_in(table, from, n, column)) means.push_back(std::move(*one));
      }
      judge(table, rows[n], means, notes);
    }
    if (is_aggregate(rows[n])) from = n + 1;
  }
}

}  // namespace wb::audit
