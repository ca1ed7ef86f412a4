// SPDX-License-Identifier: MIT
// Checks changes that are written out: "from a -> b = c times", steps of a projection.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "audit/checks.hpp"
#include "audit/ratios.hpp"

namespace wb::audit {
namespace {

constexpr std::array<std::string_view, 8> k_change_words{
    "increase", "improvement", "speedup", "faster", "slower", "reduction", "slowdown", "decrease"};

bool tells_change(std::string_view rest) {
  if (rest.find("than") < 40) return false;
  return std::any_of(k_change_words.begin(), k_change_words.end(), [&](auto word) {
    const auto at = find_word(rest, word);
    return at && *at <= 2;
  });
}

/// Whether a later factor is relative to the first time: "6.5 us -> 4.85 us (1.3x faster)", then
/// "4.85 us -> 4.0 us (1.6x faster)".
bool is_over_other(const Facts& facts, const Figure& to, const Interval& wanted) {
  for (const Line& line : facts.document.lines) {
    const auto& figures = facts.of(line.number);
    for (std::size_t n = 0; n + 1 < figures.size(); ++n) {
      const Figure &first = figures[n], &next = figures[n + 1];
      if (first.unit != to.unit || next.unit != to.unit || first.value == to.value) continue;
      if (trimmed(line.plain.substr(first.end, next.begin - first.end)) != "->") continue;
      for (const auto& factor :
           {divide(first.whole(), to.whole()), divide(to.whole(), first.whole())}) {
        if (factor && wanted.meets(*factor)) return true;
      }
    }
  }
  return false;
}

}  // namespace

void check_changes(const Facts& facts, Notes& notes) {
  for (const Line& line : facts.document.lines) {
    const auto& figures = facts.of(line.number);
    for (std::size_t n = 0; n + 2 < figures.size(); ++n) {
      const Figure &from = figures[n], &to = figures[n + 1];
      Figure printed = figures[n + 2];
      if (from.unit != to.unit || from.unit == Unit::none || from.unit == Unit::percent) continue;
      if (printed.unit != Unit::factor || from.bounded || to.bounded) continue;
      if (trimmed(line.plain.substr(from.end, to.begin - from.end)) != "->") continue;
      const std::string link = trimmed(line.plain.substr(to.end, printed.begin - to.end));
      const std::string rest = line.lower.substr(printed.end);
      if (link != "=" && !(link == "(" && tells_change(rest))) continue;
      open_round(printed);
      const Interval first{from.operand().low, from.operand(true).high};
      const Interval second{to.operand().low, to.operand(true).high};
      const auto up = divide(second, first), down = divide(first, second);
      if (!up || !down) continue;
      const Interval wanted{printed.result().low, printed.result(true).high};
      const std::string formula = fmt::format("{} -> {} is {} (or {})", from.printed, to.printed,
                                              show(*up, Unit::factor), show(*down, Unit::factor));
      if (wanted.meets(*up) || wanted.meets(*down)) {
        notes.held(line.number, formula + ", printed " + printed.printed);
      } else {
        // "73 us -> 754 us -> 9595 us (10x each step)": one rounded factor for several steps.
        const bool chain = trimmed(line.plain.substr(0, from.begin)).ends_with("->") ||
                           has_word(rest, "each") || has_word(rest, "per");
        // "45 s -> 10 s (3.5x faster)" may mean 3.5 times more work in the same time.
        const Interval more{down->low - 1, down->high - 1};
        const bool is_more = has_word(rest.substr(0, 10), "faster") && wanted.meets(more);
        const bool vague = printed.approximate || from.approximate || to.approximate || is_more ||
                           is_over_other(facts, to, wanted);
        notes.add(
            {.severity = chain || vague ? Severity::doubtful : Severity::contradiction,
             .line = line.number,
             .printed = fmt::format("{} -> {}, {}", from.printed, to.printed, printed.printed),
             .computed = formula,
             .meaning = "the factor does not follow from the two figures beside it",
             .tolerance = tolerance_of(printed)});
      }
    }
  }
}

void check_projections(const Facts& facts, Notes& notes) {
  for (const TableFacts& table : facts.tables) {
    const auto cumulative = std::find_if(
        table.columns.begin(), table.columns.end(),
        [](const Column& column) { return column.name.find("cumulative") != std::string::npos; });
    if (cumulative == table.columns.end()) continue;
    const auto column = static_cast<std::size_t>(cumulative - table.columns.begin());
    std::optional<Figure> before;
    for (const Row& row : table.table->rows) {
      const auto now = table.figure(row, column);
      if (!now || now->unit != Unit::factor) {
        before.reset();
        continue;
      }
      std::optional<Figure> step;
      for (std::size_t n = column + 1; n < row.cells.size() && !step; ++n) {
        for (Figure& figure : figures_in(row.cells[n])) {
          const bool gain = lower_of(row.cells[n]).find("improvement") != std::string::npos;
          if (figure.unit == Unit::factor && gain) step = figure;
        }
      }
      if (before && step) {
        const Interval low = before->operand() * step->operand();
        const Interval high = before->operand(true) * step->operand(true);
        const std::string formula =
            fmt::format("{} x {} = {} to {}", before->printed, step->printed,
                        show(before->value * step->value, Unit::factor),
                        show(before->high * step->high, Unit::factor));
        if (now->result().meets(low) && now->result(true).meets(high)) {
          notes.held(row.line, formula + ", printed " + now->printed);
        } else {
          notes.add(
              {.line = row.line,
               .printed = now->printed + " after " + before->printed + " and " + step->printed,
               .computed = formula,
               .meaning = "the step does not lead from the row above to this one",
               .tolerance = tolerance_of(*now)});
        }
      }
      before = now;
    }
  }
}

}  // namespace wb::audit
