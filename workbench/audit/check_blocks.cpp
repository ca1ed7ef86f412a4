// SPDX-License-Identifier: MIT
// Checks numbers of blocks: against shape and tile, between two launches, and against the number of
// SMs. And the answers to "Fits in L1?" and "Fits in L2?" in a table against the row's size and the
// cache size that the document states.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

/// The square tile ("64x64 tile") if the document mentions exactly one, else nothing.
std::optional<std::pair<double, int>> tile_of(const Facts& facts) {
  std::optional<std::pair<double, int>> tile;
  for (const Line& line : facts.document.lines) {
    if (line.lower.find("tile") == std::string::npos) continue;
    for (const Figure& figure : facts.of(line.number)) {
      const std::string_view rest = std::string_view(line.plain).substr(figure.end);
      if (figure.unit != Unit::none || !rest.starts_with("x")) continue;
      const std::string other(trimmed(rest.substr(1)));
      std::size_t digits = 0;
      while (digits < other.size() && other[digits] >= '0' && other[digits] <= '9') ++digits;
      if (digits == 0 || other.substr(0, digits) != figure.printed) continue;
      if (tile && tile->first != figure.value) return std::nullopt;
      if (!tile) tile = {figure.value, line.number};
    }
  }
  return tile;
}

/// Checks "maximum … (512 CTAs)" against the largest measured shape.
void check_most_blocks(const Facts& facts, Notes& notes) {
  const auto tile = tile_of(facts);
  if (!tile || facts.pairs.empty()) return;
  const auto largest =
      std::max_element(facts.pairs.begin(), facts.pairs.end(),
                       [](auto& a, auto& b) { return a.shape.work() < b.shape.work(); });
  const Shape& shape = largest->shape;
  if (shape.batch == 0 || shape.heads == 0 || shape.sequence == 0) return;
  const double tiles = shape.batch * shape.heads * std::ceil(shape.sequence / tile->first);
  for (const Line& line : facts.document.lines) {
    const bool most = line.lower.find("maximum") != std::string::npos ||
                      line.lower.find("largest") != std::string::npos ||
                      line.lower.find("most parallel") != std::string::npos;
    if (!most) continue;
    for (const Figure& figure : facts.of(line.number)) {
      const std::string rest = trimmed(std::string_view(line.lower).substr(figure.end));
      const bool blocks = rest.starts_with("cta") || rest.starts_with("block");
      if (!blocks || figure.unit != Unit::none || figure.approximate) continue;
      const std::string formula =
          fmt::format("{} x {} x {}/{} = {}", show(shape.batch), show(shape.heads),
                      show(shape.sequence), show(tile->first), show(tiles));
      if (figure.value == tiles) {
        notes.held(line.number, formula + ", printed " + figure.printed);
      } else {
        notes.add({.line = line.number,
                   .printed = figure.printed + " blocks",
                   .computed = formula + fmt::format(" for {} and tiles of {}", shape.text(),
                                                     show(tile->first)),
                   .meaning = "the number of blocks does not follow from shape and tile",
                   .tolerance = "none: counts are exact",
                   .also = {largest->line, tile->second}});
      }
    }
  }
}

/// Checks "4x more blocks" against "-> 2 blocks" and "-> 4 blocks" for the same shape.
void check_more_blocks(const Facts& facts, Notes& notes) {
  std::map<std::string, std::vector<std::pair<double, int>>> counts;
  for (const Line& line : facts.document.lines) {
    for (const Figure& figure : facts.of(line.number)) {
      const std::string rest = trimmed(std::string_view(line.lower).substr(figure.end));
      const std::string before = trimmed(line.plain.substr(0, figure.begin));
      if (figure.unit == Unit::none && rest.starts_with("block") && before.ends_with("->")) {
        const Shape shape = shape_in(line.plain);
        auto& here = counts[shape.text()];
        if (!shape.empty() && (here.empty() || here.back().first != figure.value)) {
          here.emplace_back(figure.value, line.number);
        }
      }
      if (figure.unit != Unit::factor || !rest.starts_with("more blocks")) continue;
      for (const auto& [shape, known] : counts) {
        if (known.size() != 2 || shape.empty()) continue;
        const double ratio = known[1].first / known[0].first;
        const std::string formula =
            fmt::format("{}: {} -> {} blocks (lines {} and {}) is {}x", shape, show(known[0].first),
                        show(known[1].first), known[0].second, known[1].second, show(ratio));
        if (std::abs(figure.value - ratio) <= figure.step / 2) {
          notes.held(line.number, formula + ", printed " + figure.printed);
        } else {
          notes.add({.line = line.number,
                     .printed = figure.printed + " more blocks",
                     .computed = formula,
                     .meaning = "the factor does not follow from the two launches",
                     .tolerance = "none: counts are exact",
                     .also = {known[0].second, known[1].second}});
        }
      }
    }
  }
}

/// Reports "only 256 blocks, many SMs sit idle" if no GPU has that many SMs.
void check_idle(const Facts& facts, Notes& notes) {
  for (const Line& line : facts.document.lines) {
    if (line.lower.find("idle") == std::string::npos ||
        line.lower.find("sm") == std::string::npos) {
      continue;
    }
    for (const Figure& figure : facts.of(line.number)) {
      const std::string rest = trimmed(std::string_view(line.lower).substr(figure.end));
      const std::string before = trimmed(line.lower.substr(0, figure.begin));
      if (figure.unit != Unit::none || !rest.starts_with("block") || !before.ends_with("only")) {
        continue;
      }
      for (int up = line.number; up > std::max(0, line.number - 5); --up) {
        for (const Figure& units : facts.of(up)) {
          const std::string& above = facts.document.at(up).plain;
          if (!trimmed(std::string_view(above).substr(units.end)).starts_with("SM")) continue;
          if (figure.value < units.high) continue;
          notes.add(
              {.severity = Severity::doubtful,
               .line = line.number,
               .printed = fmt::format("only {} blocks, SMs idle", figure.printed),
               .computed = fmt::format("{} blocks >= {} SMs", show(figure.value), show(units.high)),
               .meaning = "with a block for every SM none is idle for want of blocks; waves "
                          "and occupancy decide",
               .also = {up}});
        }
      }
    }
  }
}

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

void check_block_counts(const Facts& facts, Notes& notes) {
  check_most_blocks(facts, notes);
  check_more_blocks(facts, notes);
  check_idle(facts, notes);
}

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
