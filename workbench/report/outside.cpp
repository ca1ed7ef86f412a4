// SPDX-License-Identifier: MIT
// What `compare` measured between iterations: a candidate beside others in the same turns. These
// comparisons do not change the incumbent.
#include <fmt/format.h>

#include <algorithm>

#include "report/session_sections.hpp"

namespace wb::report {
namespace {

constexpr std::size_t k_max_outside_rows = 200;

/// One candidate on one problem under one plan, in one call; never empty.
using Opponents = std::vector<const Compared*>;

bool is_of_one_row(const Compared& a, const Compared& b) {
  return a.candidate == b.candidate && a.problem == b.problem && a.plan == b.plan &&
         a.regime == b.regime;
}

/// A repeated call has an opponent twice and becomes a separate row.
std::vector<Opponents> rows_of(const ComparisonIndex& index) {
  std::vector<Opponents> rows;
  for (const Compared& compared : index.all()) {
    const auto is_there = [&](const Compared* other) { return other->against == compared.against; };
    if (rows.empty() || !is_of_one_row(*rows.back().front(), compared) ||
        std::any_of(rows.back().begin(), rows.back().end(), is_there)) {
      rows.emplace_back();
    }
    rows.back().push_back(&compared);
  }
  return rows;
}

/// Sorts by rising ratio; opponents without a figure come last.
void sort_fastest_first(Opponents& row) {
  std::stable_sort(row.begin(), row.end(), [](const Compared* a, const Compared* b) {
    const auto figure = [](const Compared* compared) { return compared->ratio.value.value_or(0); };
    if (!(figure(a) > 0.0) || !(figure(b) > 0.0)) return figure(a) > 0.0;
    return figure(a) < figure(b);
  });
}

/// Facts::plan_label does not fit, because `compare` may use another regime than the objective's.
std::string plan_cell(const Compared& compared) {
  return compared.regime.empty() ? compared.plan : compared.plan + " " + compared.regime;
}

std::string others_cell(const Opponents& row) {
  std::string out;
  for (std::size_t i = 1; i < row.size(); ++i) {
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ",
                       code(std::string(base_name(row[i]->against)), 60), comparison_cell(*row[i]));
  }
  return out;
}

}  // namespace

std::string outside_section(const Page& page) {
  const Facts& facts = page.facts;
  const ComparisonIndex index(facts.view.outside);
  std::vector<Opponents> rows = rows_of(index);
  if (rows.empty()) return {};
  std::string out =
      "## Compared between iterations\n\nOf each problem and plan the fastest of the others, in "
      "the same turns; the rest of them beside it. Nothing here changed the incumbent.\n\n";
  Table table({"problem", "plan", "candidate", "us>", "fastest of the others", "us>",
               "speedup [" + interval_name(index) + "]", "the rest"});
  for (std::size_t i = 0; i < std::min(rows.size(), k_max_outside_rows); ++i) {
    sort_fastest_first(rows[i]);
    const Compared& first = *rows[i].front();
    table.row({inline_text(facts.title(first.problem), 80), inline_text(plan_cell(first), 40),
               code(first.candidate, 60), microseconds(first.candidate_us),
               code(std::string(base_name(first.against)), 60), microseconds(first.against_us),
               comparison_cell(first), others_cell(rows[i])});
  }
  out += table.str() + "\n";
  if (rows.size() > k_max_outside_rows) {
    out += fmt::format("{} more rows are left out: `sdpa-wb show eN` prints any event.\n\n",
                       rows.size() - k_max_outside_rows);
  }
  return out;
}

}  // namespace wb::report
