// SPDX-License-Identifier: MIT
// Arithmetic that is written out: "a x b = c", "from a -> b = c times", steps of a projection.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "audit/checks.hpp"
#include "audit/expression.hpp"

namespace wb::audit {
namespace {

/// What the two ends of a printed figure say against a computed interval.
bool agrees(const Figure& printed, const Expression& computed, const Interval& value) {
  if (printed.is_range && computed.ranged) {
    return printed.result().meets({value.low, value.low}) &&
           printed.result(true).meets({value.high, value.high});
  }
  return Interval{printed.result().low, printed.result(true).high}.meets(value);
}

void check_equals(const Line& line, std::size_t equals, Notes& notes) {
  const std::string& plain = line.plain;
  const char before = equals > 0 ? plain[equals - 1] : ' ';
  const char after = equals + 1 < plain.size() ? plain[equals + 1] : ' ';
  constexpr std::string_view k_operators = "=<>!+-*/";
  if (k_operators.find(before) != std::string_view::npos || after == '=' || after == '>') return;
  const auto computed = expression_before(plain, equals);
  if (!computed) return;
  std::size_t at = equals + 1;
  while (at < plain.size() && (plain[at] == ' ' || plain[at] == '~')) ++at;
  const auto printed = figure_at(plain, at);
  if (!printed || printed->bounded) return;
  // "= 1 -> 16", "= 2 x 8": more arithmetic, no result; a later "=" is looked at for itself.
  const std::string rest = trimmed(std::string_view(plain).substr(printed->end));
  if (rest.starts_with("->") || rest.starts_with("* ") || rest.starts_with("x ") ||
      rest.starts_with("x1") || rest.starts_with("/ ") || rest.starts_with("+ ")) {
    return;
  }
  const auto value = in_unit(*computed, printed->unit);
  if (!value) return;
  const std::string formula = fmt::format("{} = {}", computed->text, show(*value, printed->unit));
  if (agrees(*printed, *computed, *value)) {
    notes.held(line.number, formula + ", printed " + printed->printed);
    return;
  }
  notes.add({.line = line.number,
             .printed = printed->printed,
             .computed = formula,
             .meaning = "the arithmetic that is written out gives another figure",
             .tolerance = tolerance_of(*printed)});
}

/// "AI = 0.47 FLOPs/byte" below the FLOPs and the bytes that it is made of.
void check_intensity(const Facts& facts, std::size_t index, Notes& notes) {
  const Line& line = facts.document.lines[index];
  const auto& figures = facts.of(line.number);
  if (figures.empty() || figures.front().unit != Unit::intensity || figures.front().bounded) return;
  const Figure* work = nullptr;
  const Figure* moved = nullptr;
  for (std::size_t up = index; up-- > 0 && up + 5 > index;) {
    const Line& above = facts.document.lines[up];
    const auto& there = facts.of(above.number);
    if (trimmed(above.plain).empty() || there.empty()) break;
    const auto label = label_of(above.plain);
    if (moved == nullptr && there.back().unit == Unit::bytes) moved = &there.back();
    if (work == nullptr && label && label->label == "flops") work = &there.back();
  }
  if (work == nullptr || moved == nullptr) return;
  const auto value = divide(work->operand(), moved->operand());
  if (!value) return;
  const Figure& printed = figures.front();
  const std::string formula =
      fmt::format("{} / {} = {}", work->printed, moved->printed, show(*value, Unit::intensity));
  if (printed.result().meets(*value)) {
    notes.held(line.number, formula + ", printed " + printed.printed);
  } else {
    notes.add({.line = line.number,
               .printed = printed.printed,
               .computed = formula,
               .meaning = "the intensity does not follow from the FLOPs and bytes above it",
               .tolerance = tolerance_of(printed)});
  }
}

/// "55 min @ $0.20/hr" in one cell or bracket, its price beside it.
void check_rate(const Facts& facts, const Line& line, Notes& notes) {
  const auto& figures = facts.of(line.number);
  for (std::size_t n = 0; n + 2 < figures.size(); ++n) {
    const Figure &time = figures[n], &rate = figures[n + 1], &price = figures[n + 2];
    if (time.unit != Unit::time || rate.unit != Unit::money_rate || price.unit != Unit::money) {
      continue;
    }
    if (line.plain.substr(time.end, rate.begin - time.end).find('@') == std::string::npos) continue;
    const Interval value = time.operand() * rate.operand() * Interval{1 / 3600.0, 1 / 3600.0};
    const std::string formula =
        fmt::format("{} x {} = {}", time.printed, rate.printed, show(value, Unit::money));
    if (price.result().meets(value)) {
      notes.held(line.number, formula + ", printed " + price.printed);
    } else {
      notes.add({.line = line.number,
                 .printed = price.printed,
                 .computed = formula,
                 .meaning = "the price does not follow from the time and the rate beside it",
                 .tolerance = tolerance_of(price)});
    }
  }
}

/// "384 bytes (0.8% of available 48KB)".
void check_share(const Facts& facts, const Line& line, Notes& notes) {
  const auto& figures = facts.of(line.number);
  for (std::size_t n = 1; n + 1 < figures.size(); ++n) {
    const Figure &part = figures[n - 1], &share = figures[n], &whole = figures[n + 1];
    if (share.unit != Unit::percent || part.unit != whole.unit || part.unit == Unit::none ||
        part.unit == Unit::percent || share.is_range || share.bounded) {
      continue;
    }
    const std::string between =
        trimmed(std::string_view(line.lower).substr(share.end, whole.begin - share.end));
    if (!between.starts_with("of") || between.size() > 24) continue;
    const auto value = divide(part.operand(), whole.operand());
    if (!value) continue;
    const Interval percent = *value * Interval{100, 100};
    const std::string formula =
        fmt::format("{} / {} = {}", part.printed, whole.printed, show(percent, Unit::percent));
    if (share.result().meets(percent)) {
      notes.held(line.number, formula + ", printed " + share.printed);
    } else {
      notes.add({.line = line.number,
                 .printed = share.printed + " of " + whole.printed,
                 .computed = formula,
                 .meaning = "the share does not follow from the two figures beside it",
                 .tolerance = tolerance_of(share)});
    }
  }
}

constexpr std::array<std::string_view, 8> k_change_words{
    "increase", "improvement", "speedup", "faster", "slower", "reduction", "slowdown", "decrease"};

bool tells_change(std::string_view rest) {
  if (rest.find("than") < 40) return false;
  return std::any_of(k_change_words.begin(), k_change_words.end(), [&](auto word) {
    const auto at = find_word(rest, word);
    return at && *at <= 2;
  });
}

}  // namespace

void check_arithmetic(const Facts& facts, Notes& notes) {
  for (std::size_t n = 0; n < facts.document.lines.size(); ++n) {
    const Line& line = facts.document.lines[n];
    for (std::size_t at = line.plain.find('='); at != std::string::npos;
         at = line.plain.find('=', at + 1)) {
      check_equals(line, at, notes);
    }
    check_intensity(facts, n, notes);
    check_rate(facts, line, notes);
    check_share(facts, line, notes);
  }
}

void check_changes(const Facts& facts, Notes& notes) {
  for (const Line& line : facts.document.lines) {
    const auto& figures = facts.of(line.number);
    for (std::size_t n = 0; n + 2 < figures.size(); ++n) {
      const Figure &from = figures[n], &to = figures[n + 1], &printed = figures[n + 2];
      if (from.unit != to.unit || from.unit == Unit::none || from.unit == Unit::percent) continue;
      if (printed.unit != Unit::factor || from.bounded || to.bounded) continue;
      if (trimmed(line.plain.substr(from.end, to.begin - from.end)) != "->") continue;
      const std::string link = trimmed(line.plain.substr(to.end, printed.begin - to.end));
      const std::string rest = line.lower.substr(printed.end);
      if (link != "=" && !(link == "(" && tells_change(rest))) continue;
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
        notes.add(
            {.line = line.number,
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
