// SPDX-License-Identifier: MIT
// Checks changes and steps: "from a -> b = c times", steps of a cumulative speedup, and a roadmap.
// Of its two tables one has steps with a range of impact each, the other stages that name steps and
// their combined gain. Stage by stage the least, the expected and the greatest gains multiply. A
// capped gain (for example by a roofline) may be less, and then it is the stage's upper end as
// well.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

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

/// "4.90x (3.00x to 8.00x)": least, expected, greatest.
using Gain = std::array<Interval, 3>;
constexpr std::array<const char*, 3> k_ends{"least", "expected", "greatest"};

struct Printed {
  Gain operand, result;
};

std::optional<Printed> gain_in(const std::string& cell) {
  std::vector<std::pair<Interval, Interval>> values;
  for (const Figure& figure : figures_in(cell)) {
    if (figure.unit != Unit::factor || figure.bounded) return std::nullopt;
    values.emplace_back(figure.operand(), figure.result());
    if (figure.is_range) values.emplace_back(figure.operand(true), figure.result(true));
  }
  if (values.size() != 3) return std::nullopt;
  // The expected gain is printed first.
  return Printed{{values[1].first, values[0].first, values[2].first},
                 {values[1].second, values[0].second, values[2].second}};
}

/// The step's name: the cell up to a colon.
std::string step_of(const std::string& cell) {
  return lower_of(trimmed(cell.substr(0, cell.find(':'))));
}

std::vector<std::string> steps_of(const std::string& cell) {
  std::vector<std::string> steps;
  for (std::size_t at = 0; at <= cell.size();) {
    const std::size_t end = std::min(cell.find(',', at), cell.size());
    steps.push_back(lower_of(trimmed(cell.substr(at, end - at))));
    at = end + 1;
  }
  return steps;
}

std::optional<std::size_t> column_of_name(const TableFacts& table, std::string_view word) {
  for (std::size_t n = 0; n < table.columns.size(); ++n) {
    if (table.columns[n].name == word) return n;
  }
  return std::nullopt;
}

using Steps = std::map<std::string, Gain>;

void add_steps(const TableFacts& table, Steps& steps) {
  const auto name = column_of_name(table, "technique");
  if (!name) return;
  for (const Row& row : table.table->rows) {
    for (std::size_t n = *name + 1; n < row.cells.size(); ++n) {
      const auto gain = gain_in(row.cells[n]);
      if (!gain) continue;
      steps[step_of(cell_of(row, *name))] = gain->operand;
      break;
    }
  }
}

std::string shown(const Interval& value) {
  return show(value.middle(), Unit::factor);
}

/// Judges one stage: the previous stage's gain times its steps.
void judge(const Row& row, const std::string& printed, const Printed& stage, const Gain& product,
           Notes& notes) {
  bool holds = true;
  for (std::size_t end = 0; end < k_ends.size(); ++end) {
    const bool follows = stage.result[end].meets(product[end]);
    const bool is_capped =
        stage.result[end].high < product[end].low && stage.result[end].meets(stage.operand.back());
    if (follows || is_capped) continue;
    holds = false;
    notes.add({.line = row.line,
               .printed = printed,
               .computed = fmt::format("{}: the stage before times its steps = {}", k_ends[end],
                                       shown(product[end])),
               .meaning = "gains of successive steps multiply; the stage is not their product"});
  }
  if (holds) {
    notes.held(row.line, fmt::format("{}: products of the steps' ranges {}, {} to {}", printed,
                                     shown(product[1]), shown(product[0]), shown(product[2])));
  }
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

void check_stages(const Facts& facts, Notes& notes) {
  Steps steps;
  for (const TableFacts& table : facts.tables) {
    add_steps(table, steps);
    const auto stage = column_of_name(table, "stage");
    const auto names = column_of_name(table, "techniques");
    if (!stage || !names || steps.empty()) continue;
    Gain before{{{1, 1}, {1, 1}, {1, 1}}};
    for (const Row& row : table.table->rows) {
      const std::string& cell = cell_of(row, *names + 1);
      const auto printed = gain_in(cell);
      if (!printed) break;  // later stages cannot be judged
      Gain product = before;
      bool known = true;
      for (const std::string& step : steps_of(cell_of(row, *names))) {
        const auto gain = steps.find(step);
        known = known && gain != steps.end();
        if (!known) break;
        for (std::size_t end = 0; end < product.size(); ++end) {
          product[end] = product[end] * gain->second[end];
        }
      }
      if (known) judge(row, cell, *printed, product, notes);
      before = printed->operand;
    }
  }
}

}  // namespace wb::audit
