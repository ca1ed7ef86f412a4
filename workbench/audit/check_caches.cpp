// SPDX-License-Identifier: MIT
// Checks the answers to "Fits in L1?" and "Fits in L2?" in a table against the row's size and the
// cache size that the document states.
#include <fmt/format.h>

#include <array>
#include <map>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

struct Cache {
  Figure size;
  int line;
};

constexpr std::array<std::string_view, 3> k_levels{"l1", "l2", "l3"};

/// The first stated size of each cache level: "L2 Cache: ~40 MB".
std::map<std::string, Cache> caches_of(const Facts& facts) {
  std::map<std::string, Cache> caches;
  for (const Line& line : facts.document.lines) {
    const auto label = label_of(line.plain);
    if (!label || line.in_table) continue;
    for (const std::string_view level : k_levels) {
      if (!has_word(label->label, level)) continue;
      for (const Figure& figure : facts.of(line.number)) {
        if (figure.unit == Unit::bytes && figure.begin >= label->rest) {
          caches.try_emplace(std::string(level), Cache{figure, line.number});
          break;
        }
      }
    }
  }
  return caches;
}

std::string shown(std::string level) {
  level.front() = 'L';
  return level;
}

enum class Answer { none, yes, no, tight };
Answer answer_in(const std::string& cell) {
  const std::string lower = lower_of(cell);
  if (lower.find("[no]") != std::string::npos || has_word(lower, "no")) return Answer::no;
  if (lower.find("[warn]") != std::string::npos || has_word(lower, "tight")) return Answer::tight;
  if (lower.find("[ok]") != std::string::npos || has_word(lower, "yes")) return Answer::yes;
  return Answer::none;
}

std::string_view word(Answer answer) {
  return answer == Answer::no ? "does not fit" : answer == Answer::tight ? "tight" : "fits";
}

/// The row's total if it has one, else its only size, else nothing.
std::optional<Figure> size_of(const TableFacts& table, const Row& row) {
  std::optional<Figure> size;
  int sizes = 0;
  for (std::size_t n = 0; n < table.columns.size(); ++n) {
    const auto figure = table.figure(row, n);
    if (!figure || figure->unit != Unit::bytes) continue;
    const bool total = table.columns[n].name.find("total") != std::string::npos ||
                       table.columns[n].name.find("working set") != std::string::npos;
    if (total) return figure;
    size = figure;
    ++sizes;
  }
  return sizes == 1 ? size : std::nullopt;
}

void judge(const Row& row, const std::string& level, const Cache& cache, const Figure& size,
           Answer answer, Notes& notes) {
  const double share = size.value / cache.size.value;
  const std::string formula = fmt::format("{} / {} (line {}) = {:.3g} %", size.printed,
                                          cache.size.printed, cache.line, 100 * share);
  // A cache also holds other data, so between half full and full both answers are acceptable.
  const bool wrong = (answer == Answer::no && share <= 0.5) ||
                     (answer == Answer::tight && share <= 0.25) ||
                     (answer == Answer::yes && share > 1.05);
  if (!wrong) {
    notes.held(row.line, fmt::format("{}: {}, called: {}", shown(level), formula, word(answer)));
    return;
  }
  notes.add({.line = row.line,
             .printed = fmt::format("{}: {} for {}", shown(level), word(answer), size.printed),
             .computed = formula,
             .meaning = fmt::format("by the document's own size of the {} it {}", shown(level),
                                    share > 1 ? "does not fit" : "fits"),
             .tolerance = "no: above 50 %; tight: above 25 %; yes: below 105 %",
             .also = {cache.line}});
}

/// Checks comparisons in prose: "Working set (1 MB) >> L2 cache".
void check_prose(const Facts& facts, const std::map<std::string, Cache>& caches, Notes& notes) {
  for (const Line& line : facts.document.lines) {
    const std::size_t larger = line.plain.find(">>");
    if (larger == std::string::npos || line.in_table) continue;
    const std::string behind = line.lower.substr(larger);
    for (const auto& [level, cache] : caches) {
      if (!has_word(behind, level)) continue;
      for (const Figure& figure : facts.of(line.number)) {
        if (figure.unit != Unit::bytes || figure.begin > larger) continue;
        const std::string formula =
            fmt::format("{} / {} (line {}) = {:.3g} %", figure.printed, cache.size.printed,
                        cache.line, 100 * figure.value / cache.size.value);
        if (figure.value > cache.size.value) {
          notes.held(line.number, formula);
          continue;
        }
        notes.add({.line = line.number,
                   .printed = fmt::format("{} >> {}", figure.printed, shown(level)),
                   .computed = formula,
                   .meaning = "the working set is smaller than the cache, not larger",
                   .also = {cache.line}});
      }
    }
  }
}

}  // namespace

void check_caches(const Facts& facts, Notes& notes) {
  const std::map<std::string, Cache> caches = caches_of(facts);
  if (caches.empty()) return;
  for (const TableFacts& table : facts.tables) {
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const std::string& name = table.columns[column].name;
      if (name.find("fit") == std::string::npos) continue;
      for (const auto& [level, cache] : caches) {
        if (!has_word(name, level)) continue;
        for (const Row& row : table.table->rows) {
          const auto size = size_of(table, row);
          const Answer answer = answer_in(cell_of(row, column));
          if (size && answer != Answer::none) judge(row, level, cache, *size, answer, notes);
        }
      }
    }
  }
  check_prose(facts, caches, notes);
}

}  // namespace wb::audit
