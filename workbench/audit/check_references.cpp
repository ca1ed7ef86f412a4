// SPDX-License-Identifier: MIT
// Checks the reference side of a ratio: a reference whose time falls while its work grows was not
// warmed up; one whose time is constant while its work grows is bound by its launches.
#include <fmt/format.h>

#include <algorithm>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

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

void check_references(const Facts& facts, Notes& notes) {
  for (const TableFacts& table : facts.tables) {
    const std::vector<Pair> pairs = of_table(facts, table);
    if (pairs.size() < 2) continue;
    check_falling(pairs, notes);
    check_flat(pairs, notes);
  }
}

}  // namespace wb::audit
