// SPDX-License-Identifier: MIT
// Checks numbers of blocks: against shape and tile, between two launches, and against the number of
// SMs.
#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

void check_block_counts(const Facts& facts, Notes& notes) {
  check_most_blocks(facts, notes);
  check_more_blocks(facts, notes);
  check_idle(facts, notes);
}

}  // namespace wb::audit
