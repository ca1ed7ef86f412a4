// SPDX-License-Identifier: MIT
// Checks the order of quantiles of one sample (minimum, p10, median, p90, maximum), in the columns
// of a row or the rows of a column.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "audit/checks.hpp"
#include "audit/quantile_names.hpp"
#include "audit/ratios.hpp"

namespace wb::audit {
namespace {

struct Placed {
  QuantileName rank;
  Figure figure;
  std::string name;
  int line;
};

/// A higher quantile with a lower value, beyond the rounding of the printed digits.
struct Fault {
  const Placed *low, *high;
};
std::optional<Fault> fault_in(const std::vector<Placed>& placed) {
  for (const Placed& a : placed) {
    for (const Placed& b : placed) {
      if (a.rank.share >= b.rank.share) continue;
      const double slack = std::max(a.figure.step, b.figure.step) / 2;
      if (a.figure.value - slack > b.figure.value + slack * 1e-9) return Fault{&a, &b};
    }
  }
  return std::nullopt;
}

struct QuantileSeries {
  std::vector<Placed> placed;
  bool aimed_so = false;  ///< the limits beside it are in the same order
};

/// The subjects that the quantiles name. An unnamed subject is added if none is named, or if the
/// only name would make two quantiles equal; then the unnamed ones are another sample.
std::vector<std::string> subjects_of(const std::vector<Placed>& all) {
  std::vector<std::string> subjects;
  bool any_bare = false;
  for (const Placed& one : all) {
    const std::string& subject = one.rank.subject;
    const bool known = std::find(subjects.begin(), subjects.end(), subject) != subjects.end();
    any_bare = any_bare || subject.empty();
    if (!subject.empty() && !known) subjects.push_back(subject);
  }
  bool twice = false;
  for (const Placed& a : all) {
    twice = twice || std::any_of(all.begin(), all.end(), [&](auto& b) {
              return a.rank.share == b.rank.share && a.rank.subject != b.rank.subject;
            });
  }
  if (subjects.empty() || (any_bare && twice)) subjects.emplace_back();
  return subjects;
}

/// The values of one series: one unit and this subject; unnamed values count if there is only one
/// subject.
std::vector<Placed> matching(const std::vector<Placed>& all, const std::string& subject,
                             bool alone) {
  std::vector<Placed> kept;
  Unit unit = Unit::none;
  for (const Placed& one : all) {
    const bool named = one.rank.subject == subject || alone;
    if (named && one.figure.unit != Unit::none) unit = one.figure.unit;
  }
  for (const Placed& one : all) {
    const bool fits = one.rank.subject == subject || (alone && one.rank.subject.empty());
    if (fits && (one.figure.unit == unit || one.figure.unit == Unit::none)) kept.push_back(one);
  }
  // "Median ms | Max count": a number without a unit but with another name has its own unit.
  std::erase_if(kept, [&](const Placed& bare) {
    if (unit == Unit::none || bare.figure.unit != Unit::none) return false;
    return !bare.rank.subject.empty() && std::none_of(all.begin(), all.end(), [&](auto& other) {
      return other.figure.unit != Unit::none && other.rank.subject == bare.rank.subject;
    });
  });
  // Numbers without a unit have the unit of their only neighbour; beside two units they have
  // neither.
  double scale = 0;
  bool one_scale = true;
  for (const Placed& one : kept) {
    if (one.figure.unit == Unit::none || unit == Unit::none) continue;
    one_scale = one_scale && (scale == 0 || scale == one.figure.scale);
    scale = one.figure.scale;
  }
  if (!one_scale) std::erase_if(kept, [](auto& one) { return one.figure.unit == Unit::none; });
  if (scale != 0) {
    for (Placed& one : kept) {
      if (one.figure.unit != Unit::none) continue;
      one.figure.unit = unit;
      one.figure.value *= scale, one.figure.high *= scale, one.figure.step *= scale;
      one.figure.scale *= scale;
    }
  }
  return kept;
}

void take(const std::vector<Placed>& placed, std::vector<QuantileSeries>& all) {
  const std::vector<std::string> subjects = subjects_of(placed);
  for (const std::string& subject : subjects) {
    std::vector<Placed> kept = matching(placed, subject, subjects.size() == 1);
    // "P1" and "P2" may number predictions or phases; low quantiles count only beside a middle one.
    const bool has_middle =
        std::any_of(kept.begin(), kept.end(), [](auto& one) { return one.rank.share >= 50; });
    if (kept.size() >= 2 && has_middle) all.push_back({std::move(kept)});
  }
}

void judge(const std::vector<QuantileSeries>& all, bool is_rate, bool is_sample, Notes& notes) {
  std::size_t faults = 0, rated = 0;
  for (const QuantileSeries& series : all) {
    faults += fault_in(series.placed) ? 1 : 0;
    rated += std::any_of(series.placed.begin(), series.placed.end(),
                         [](auto& one) {
                           return one.figure.unit != Unit::time && one.figure.unit != Unit::none;
                         })
                 ? 1
                 : 0;
  }
  for (const QuantileSeries& series : all) {
    const auto fault = fault_in(series.placed);
    if (!fault) {
      std::string words;
      for (const Placed& one : series.placed) {
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", one.name, one.figure.printed);
      }
      notes.held(series.placed.front().line, "quantiles in order: " + words);
      continue;
    }
    // The p99 of a rate may be its slow end, and "max" alone may be a limit.
    const bool sure = fault->low->rank.sure && fault->high->rank.sure;
    if (is_rate || rated > 0 || (!sure && 2 * faults > all.size())) continue;
    // Numbers without a unit may count what the header above names.
    const bool has_unit =
        fault->low->figure.unit != Unit::none && fault->high->figure.unit != Unit::none;
    // "hot p50 | p99": the header does not say to which sample the p99 belongs.
    const bool one_subject = fault->low->rank.subject == fault->high->rank.subject &&
                             !fault->low->rank.given && !fault->high->rank.given;
    // "p99 0.0 ms" may stand for a value that was not measured.
    const bool has_value = is_sample && fault->high->figure.value != 0 && !series.aimed_so;
    notes.add(
        {.severity =
             has_unit && one_subject && has_value ? Severity::contradiction : Severity::doubtful,
         .line = fault->high->line,
         .printed = fmt::format("{} {} and {} {}", fault->low->name, fault->low->figure.printed,
                                fault->high->name, fault->high->figure.printed),
         .computed = fmt::format("{} > {}", full(fault->low->figure), full(fault->high->figure)),
         .meaning = "a lower quantile is above a higher one of the same sample",
         .tolerance = "half of the last digit",
         .also = {fault->low->line}});
  }
}

bool speaks_of_rates(const std::string& lower) {
  static constexpr std::array<std::string_view, 11> k_words{
      "/s",      "throughput", "flop",      "fps",  "qps",  "rps",
      "per sec", "speedup",    "bandwidth", "rate", "ratio"};
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](auto word) { return lower.find(word) != std::string::npos; });
}

/// Whether the columns are operations and the time of each: "sum | avg | min | max" without a
/// number of samples.
bool are_operation_columns(const TableFacts& table) {
  const auto any = [&](auto... names) {
    return std::any_of(table.columns.begin(), table.columns.end(),
                       [&](const Column& one) { return (... || (one.name == names)); });
  };
  return any("sum") && any("min") && any("max") &&
         !any("count", "samples", "n", "runs", "iterations", "calls");
}

void check_columns(const TableFacts& table, bool is_rate, Notes& notes) {
  std::vector<std::size_t> columns;
  std::vector<QuantileName> ranks;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const auto rank = quantile_of(table.columns[column].name);
    if (!rank) continue;
    if (is_bound(rank->subject) || is_difference(rank->subject)) continue;
    columns.push_back(column);
    ranks.push_back(*rank);
    is_rate = is_rate || speaks_of_rates(lower_of(table.table->headers[column]));
  }
  if (columns.size() < 2) return;
  give_subjects(ranks);
  std::vector<QuantileSeries> all;
  for (const Row& row : table.table->rows) {
    std::vector<Placed> placed;
    for (std::size_t n = 0; n < columns.size(); ++n) {
      const auto figure = whole_figure(table, row, columns[n]);
      if (figure) placed.push_back({ranks[n], *figure, table.columns[columns[n]].name, row.line});
    }
    // The rows may name metrics, too.
    const std::string label = lower_of(cell_of(row, 0));
    if (speaks_of_rates(label) || is_difference(label)) continue;
    take(placed, all);
  }
  judge(all, is_rate, !are_operation_columns(table), notes);
}

/// Whether the rows name operations, such as "dot", "max" and "min". "min" and "max" are the least
/// and the most of a sample only if another row is a quantile or a mean. A sum or a number of rows
/// ("sum", "min", "max", "avg") marks timed aggregates.
bool are_operations(const TableFacts& table) {
  static constexpr std::array<std::string_view, 8> k_statistics{
      "mean", "average", "avg", "median", "std", "stddev", "deviation", "samples"};
  static constexpr std::array<std::string_view, 4> k_ends{"min", "max", "minimum", "maximum"};
  static constexpr std::array<std::string_view, 2> k_aggregates{"sum", "count"};
  bool bare = false, others = false, aggregates = false, statistics = false;
  for (const Row& row : table.table->rows) {
    const std::string name = column_named(cell_of(row, 0)).name;
    const bool statistic = std::any_of(k_statistics.begin(), k_statistics.end(),
                                       [&](auto word) { return has_word(name, word); });
    const bool end = std::find(k_ends.begin(), k_ends.end(), name) != k_ends.end();
    if (!end && quantile_of(name)) return false;
    aggregates = aggregates ||
                 std::find(k_aggregates.begin(), k_aggregates.end(), name) != k_aggregates.end();
    statistics = statistics || statistic;
    bare = bare || end;
    others = others || !end;
  }
  return bare && others && (aggregates || !statistics);
}

/// Whether the limits beside the values are in the same unusual order, so that the rows belong to
/// two samples: "p50 | <= 20 s | 19 s", "p99 | <= 2 s | 1.5 s".
bool is_aimed_so(const TableFacts& table, const QuantileSeries& series) {
  const auto fault = fault_in(series.placed);
  if (!fault) return false;
  const auto& rows = table.table->rows;
  const auto bound = [&](const Placed& one, std::size_t column) -> std::optional<Figure> {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](auto& other) { return other.line == one.line; });
    if (row == rows.end()) return std::nullopt;
    const auto figure = table.figure(*row, column);
    return figure && figure->bounded ? figure : std::nullopt;
  };
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    const auto low = bound(*fault->low, column), high = bound(*fault->high, column);
    if (low && high && low->unit == high->unit && low->value > high->value) return true;
  }
  return false;
}

void check_rows(const TableFacts& table, bool is_rate, Notes& notes) {
  std::vector<QuantileSeries> all;
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    if (table.columns[column].role == Role::ratio || table.columns[column].unit == Unit::percent ||
        speaks_of_rates(lower_of(table.table->headers[column])) ||
        is_difference(table.columns[column].name)) {
      continue;
    }
    std::vector<Placed> placed;
    for (const Row& row : table.table->rows) {
      const Column named = column_named(cell_of(row, 0));
      const auto rank = quantile_of(named.name);
      auto figure = whole_figure(table, row, column);
      const bool rate_row = speaks_of_rates(lower_of(cell_of(row, 0)));
      if (!rank || !figure || rate_row || is_bound(rank->subject)) {
        continue;
      }
      if (figure->unit == Unit::none && named.unit != Unit::none) in_unit_of(named, *figure);
      // A repeated quantile begins another sample.
      const bool again = std::any_of(placed.begin(), placed.end(), [&](auto& one) {
        return one.rank.share == rank->share || one.rank.subject != rank->subject;
      });
      if (again) {
        take(placed, all);
        placed.clear();
      }
      placed.push_back({*rank, *figure, named.name, row.line});
    }
    take(placed, all);
  }
  for (QuantileSeries& series : all) series.aimed_so = is_aimed_so(table, series);
  judge(all, is_rate, !are_operations(table), notes);
}

}  // namespace

void check_quantiles(const Facts& facts, Notes& notes) {
  for (const TableFacts& table : facts.tables) {
    const bool is_rate = speaks_of_rates(table.table->caption);
    check_columns(table, is_rate, notes);
    check_rows(table, is_rate, notes);
  }
}

}  // namespace wb::audit
