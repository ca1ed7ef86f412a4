// SPDX-License-Identifier: MIT
// Checks scaling, normalised by the work B·H·S²·D and not by the one size that a heading names.
// Words such as "linear" are compared with the exponent log(time ratio) / log(work ratio). And the
// reference side of a ratio: a reference whose time falls while its work grows was not warmed up;
// one whose time is constant while its work grows is bound by its launches.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit/checks.hpp"
#include "audit/series.hpp"

namespace wb::audit {
namespace {

/// Reports "vs B=1" if the number of heads changes as well.
void check_headed(const Series& series, Notes& notes) {
  const TableFacts& table = *series.table;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (table.columns[column].role != Role::ratio) continue;
    const Shape named = shape_in(table.table->headers[column]);
    for (const Size& size : k_sizes) {
      Shape only;
      only.*size.member = named.*size.member;
      if (named.empty() || !(named == only) || named.*size.member == 0) continue;
      const std::size_t from = series.rows.front(), to = series.rows.back();
      const Shape &a = table.shapes[from], &b = table.shapes[to];
      if (a.*size.member != named.*size.member || a.*size.member == b.*size.member) continue;
      const double alone = (b.*size.member) / (a.*size.member);
      const Growth all = growth(series, from, to);
      Shape same = b;
      same.*size.member = a.*size.member;
      if (same == a || all.work == 1) continue;
      notes.add(
          {.severity = Severity::doubtful,
           .line = table.table->rows[to].line,
           .printed = fmt::format("{} {}", table.table->headers[column],
                                  cell_of(table.table->rows[to], column)),
           .computed =
               fmt::format("{}: work grows {}x (not {}x), time {}x, so {}x per unit of work; "
                           "exponent {:.2f}, {}",
                           differences(a, b), show(all.work), show(alone), show(all.time),
                           show(all.time / all.work), all.exponent(), kind_of(all.exponent())),
           .meaning = fmt::format("the column names the {} alone, but other sizes change too: "
                                  "scaling must be normalised by work",
                                  size.word)});
    }
  }
}

void check_rows(const Series& series, Notes& notes) {
  const TableFacts& table = *series.table;
  const std::size_t from = series.rows.front();
  for (const std::size_t n : series.rows) {
    const Row& row = table.table->rows[n];
    const Growth grown = growth(series, from, n);
    if (n == from || grown.work < 1.5 || grown.time <= 0) continue;
    for (std::size_t column = 1; column < row.cells.size(); ++column) {
      // The first cell is a name, for example "Linear" attention.
      const std::string word = word_in(lower_of(row.cells[column]));
      if (word.empty()) continue;
      const std::string formula =
          fmt::format("{}: time {}x for work {}x, exponent {:.2f}, {}",
                      differences(table.shapes[from], table.shapes[n]), show(grown.time),
                      show(grown.work), grown.exponent(), kind_of(grown.exponent()));
      if (word_fits(word, grown.exponent())) {
        notes.held(row.line, formula + ", called " + word);
      } else {
        notes.add({.line = row.line,
                   .printed = fmt::format("called {}", word),
                   .computed = formula,
                   .meaning = "the word does not fit the figures of the table, by work",
                   .tolerance = fmt::format("exponent 1 ± {}", k_linear)});
      }
    }
  }
}

constexpr double k_more_work = 4;      ///< work ratio from which a fall in time is suspicious
constexpr double k_fall = 1.3;         ///< so much longer at less work
constexpr double k_flat_work = 8;      ///< work ratio at constant time
constexpr double k_flat_time = 1.15;   ///< time ratio of the smaller problem to the larger
constexpr double k_short_s = 0.25e-3;  ///< longer calls are not bound by their launch

/// The pairs of one table, ordered by work.
std::vector<Pair> of_table(const Facts& facts, const TableFacts& table) {
  std::vector<Pair> pairs;
  if (table.table->rows.empty()) return pairs;
  const int first = table.table->rows.front().line, last = table.table->rows.back().line;
  for (const Pair& pair : facts.pairs) {
    if (pair.reference_line >= first && pair.reference_line <= last) pairs.push_back(pair);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.shape.work() < b.shape.work(); });
  const bool same = std::all_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
    return pair.shape.lacks_same(pairs.front().shape) && !pair.shape.empty();
  });
  return same ? pairs : std::vector<Pair>{};
}

void check_falling(const std::vector<Pair>& pairs, Notes& notes) {
  for (std::size_t n = 0; n + 1 < pairs.size(); ++n) {
    const Pair& small = pairs[n];
    const auto large =
        std::min_element(pairs.begin() + static_cast<std::ptrdiff_t>(n) + 1, pairs.end(),
                         [](auto& a, auto& b) { return a.reference.value < b.reference.value; });
    const double work = large->shape.work() / small.shape.work();
    if (work < k_more_work || small.reference.value < k_fall * large->reference.value) continue;
    notes.add(
        {.severity = Severity::doubtful,
         .line = small.line,
         .printed = fmt::format("reference {} at {}", full(small.reference), small.shape.text()),
         .computed = fmt::format(
             "line {}: {} for {}x the work ({}); beside that time the ratio here would be {}",
             large->reference_line, full(large->reference), show(work), large->shape.text(),
             show(large->reference.value / small.ours.value, Unit::factor)),
         .meaning = "a reference that takes longer for less work was not warmed up: no gain over "
                    "it counts",
         .tolerance = fmt::format("a fall by more than {}x", k_fall),
         .also = {large->reference_line}});
  }
}

void check_flat(const std::vector<Pair>& pairs, Notes& notes) {
  // The longest run of rows whose reference takes the same time.
  for (std::size_t n = 0; n + 2 < pairs.size(); ++n) {
    std::size_t last = n;
    double least = pairs[n].reference.value, most = least;
    for (std::size_t m = n + 1; m < pairs.size(); ++m) {
      const double time = pairs[m].reference.value;
      if (std::max(most, time) > k_flat_time * std::min(least, time)) break;
      least = std::min(least, time);
      most = std::max(most, time);
      last = m;
    }
    const double work = pairs[last].shape.work() / pairs[n].shape.work();
    if (last < n + 2 || work < k_flat_work || most > k_short_s) continue;
    std::vector<int> also;
    for (std::size_t m = n + 1; m <= last; ++m) also.push_back(pairs[m].reference_line);
    notes.add({.severity = Severity::doubtful,
               .line = pairs[n].reference_line,
               .printed = fmt::format("reference {} to {} over {} rows", show(least, Unit::time),
                                      show(most, Unit::time), last - n + 1),
               .computed = fmt::format("work grows {}x from {} to {}, its time {:.2f}x", show(work),
                                       pairs[n].shape.text(), pairs[last].shape.text(),
                                       pairs[last].reference.value / pairs[n].reference.value),
               .meaning = "the reference is bound by its launch here: these ratios compare a "
                          "kernel with an empty call, and say nothing of its scaling",
               .tolerance = fmt::format("the same within {}x", k_flat_time),
               .also = std::move(also)});
    return;
  }
}

}  // namespace

void check_scaling(const Facts& facts, Notes& notes) {
  for (const Series& series : series_of(facts)) {
    check_headed(series, notes);
    if (series.table->of(Role::time).size() == 1) check_rows(series, notes);
  }
}

void check_expected_columns(const Facts& facts, Notes& notes) {
  for (std::size_t a = 0; a < facts.tables.size(); ++a) {
    const TableFacts& first = facts.tables[a];
    const std::vector<std::size_t> columns = first.of(Role::expected);
    if (columns.empty() || !first.has_shapes) continue;
    // Two kernels may differ in their expected gain, but how work scales is the same for both.
    if (first.columns[columns[0]].name.find("scal") == std::string::npos) continue;
    for (std::size_t b = a + 1; b < facts.tables.size(); ++b) {
      const TableFacts& second = facts.tables[b];
      const std::vector<std::size_t> others = second.of(Role::expected);
      if (others.empty() || first.shapes != second.shapes ||
          first.columns[columns[0]].name != second.columns[others[0]].name) {
        continue;
      }
      std::string formula;
      std::vector<int> lines;
      for (std::size_t n = 0; n < first.shapes.size(); ++n) {
        const Row &row = first.table->rows[n], &other = second.table->rows[n];
        const auto here = first.figure(row, columns[0]), there = second.figure(other, others[0]);
        if (!here || !there || here->result().meets(there->result())) continue;
        formula += fmt::format("{}{}: {} (line {}) and {} (line {})", formula.empty() ? "" : "; ",
                               first.shapes[n].text(), here->printed, row.line, there->printed,
                               other.line);
        lines.push_back(row.line);
        lines.push_back(other.line);
      }
      if (lines.empty()) continue;
      notes.add({.line = lines.front(),
                 .printed = first.table->headers[columns[0]],
                 .computed = formula,
                 .meaning = "the same shapes are expected to scale differently in two tables: no "
                            "one rule gives both columns",
                 .also = std::vector<int>(lines.begin() + 1, lines.end())});
    }
  }
}

void check_references(const Facts& facts, Notes& notes) {
  for (const TableFacts& table : facts.tables) {
    const std::vector<Pair> pairs = of_table(facts, table);
    if (pairs.size() < 2) continue;
    check_falling(pairs, notes);
    check_flat(pairs, notes);
  }
}

}  // namespace wb::audit
