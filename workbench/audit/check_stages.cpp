// SPDX-License-Identifier: MIT
// Checks a roadmap's ranges of impact and their products: one table has steps with a range each,
// another has stages that name steps and their combined gain. Stage by stage the least, the
// expected and the greatest gains multiply. A capped gain (for example by a roofline) may be less,
// and then it is the stage's upper end as well.
#include <fmt/format.h>

#include <array>
#include <map>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

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
