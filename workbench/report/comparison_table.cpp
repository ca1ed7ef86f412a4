// SPDX-License-Identifier: MIT
// Tables of comparisons: the baseline's, an iteration's, and the result: the incumbent beside what
// it replaced and beside every rival.
#include <fmt/format.h>

#include <algorithm>

#include "report/sections.hpp"

namespace wb::page {
namespace {

constexpr std::size_t k_max_rows = 120;

/// A comparison that may not be read as a figure, with the reason.
std::string not_standing(const Facts& facts, const Compared& compared) {
  if (!compared.against_rival) return {};
  const RivalFacts* found = facts.find_rival(compared.against);
  if (found == nullptr || found->stands(compared.problem)) return {};
  const RivalFacts& rival = *found;
  if (compared.problem.empty() && (!rival.failed.empty() || !rival.whole_suite)) {
    return "left out: the rival did not pass on every problem" + cite(rival.failure_seq);
  }
  if (rival.failed.contains(compared.problem) || !rival.built) {
    return "left out: the rival failed" + cite(rival.failure_seq);
  }
  return "left out: the rival has no passing verdict here";
}

std::string problem_cell(const Facts& facts, const std::string& problem) {
  if (problem.empty()) return "**objective**";
  const std::string title = inline_text(facts.title(problem), 60);
  return facts.is_held_out(problem) && !facts.hide_held_out ? title + " (held out)" : title;
}

/// How a comparison was made; a column each, or one sentence when all rows agree.
struct Manner {
  const char* name;
  std::vector<std::string> cells;
  [[nodiscard]] bool is_constant() const {
    return std::all_of(cells.begin(), cells.end(),
                       [&](const std::string& cell) { return cell == cells.front(); });
  }
};

std::vector<Manner> manners(const std::vector<const Compared*>& rows) {
  Manner phase{"Phase", {}}, repeats{"fresh processes x rounds", {}}, floor{"noise floor", {}};
  for (const Compared* row : rows) {
    phase.cells.push_back(row->phase.empty() ? "not recorded" : inline_text(row->phase, 40));
    repeats.cells.push_back(row->instances && row->rounds
                                ? fmt::format("{} x {}", *row->instances, *row->rounds)
                                : "not recorded");
    floor.cells.push_back(row->noise_floor_frac ? percent(row->noise_floor_frac) : "not recorded");
  }
  return {phase, repeats, floor};
}

/// The rows that stand (the best phase of each pair), the objective's plan first.
std::vector<const Compared*> standing_rows(const Facts& facts, const ComparisonIndex& index) {
  std::vector<const Compared*> rows;
  for (const Compared& compared : index.all()) {
    const std::string against = compared.against_rival ? compared.against : "";
    if (index.find(against, compared.problem, compared.plan) == &compared)
      rows.push_back(&compared);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const Compared* a, const Compared* b) {
    return std::pair(a->plan != facts.plan, a->plan) < std::pair(b->plan != facts.plan, b->plan);
  });
  return rows;
}

std::string outcome_cell(const Facts& facts, const Compared& compared) {
  const std::string refused = not_standing(facts, compared);
  if (!refused.empty()) return refused;
  const bool unsure = compared.outcome != "faster" && compared.outcome != "slower";
  std::string words = comparison_words(compared);
  if (unsure && !compared.problem.empty() && !compared.reason.empty()) {
    words += ": " + inline_text(compared.reason, 100);
  }
  return words;
}

}  // namespace

std::string comparison_table(const Facts& facts, const ComparisonIndex& index,
                             std::string_view candidate) {
  std::vector<const Compared*> rows = standing_rows(facts, index);
  if (rows.empty()) return {};
  const std::size_t total = rows.size();
  rows.resize(std::min(total, k_max_rows));
  const std::vector<Manner> how = manners(rows);
  std::vector<std::string> header{"problem",   "plan",
                                  "against",   fmt::format("{} us>", candidate),
                                  "other us>", "speedup [" + interval_name(index) + "], outcome"};
  for (const Manner& manner : how) {
    if (!manner.is_constant()) header.emplace_back(manner.name);
  }
  header.emplace_back("event");
  Table table(header);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Compared& compared = *rows[i];
    // The objective is a ratio over problems; it has no time of its own.
    const bool has_times = !compared.problem.empty() && not_standing(facts, compared).empty();
    std::vector<std::string> cells{problem_cell(facts, compared.problem),
                                   inline_text(facts.plan_label(compared.plan), 40),
                                   code(compared.against, 60),
                                   has_times ? microseconds(compared.candidate_us) : "",
                                   has_times ? microseconds(compared.against_us) : "",
                                   outcome_cell(facts, compared)};
    for (const Manner& manner : how) {
      if (!manner.is_constant()) cells.push_back(manner.cells[i]);
    }
    cells.push_back(ref(compared.seq));
    table.row(std::move(cells));
  }
  std::string out = table.str() + "\n";
  for (const Manner& manner : how) {
    if (manner.is_constant()) out += fmt::format("{}: {}; ", manner.name, manner.cells.front());
  }
  out +=
      "times are medians, speedups are paired by round and may differ a little from their ratio.\n";
  if (total > k_max_rows)
    out += fmt::format("{} more comparisons are in the log.\n", total - k_max_rows);
  return out;
}

std::string result_section(const Page& page) {
  const Facts& facts = page.facts;
  std::string out = "## Result\n\n";
  if (facts.wins.empty()) {
    return out + (facts.baseline == nullptr
                      ? "Nothing is measured yet.\n\n"
                      : "The incumbent is the start; the baseline below is where it stands.\n\n");
  }
  out += fmt::format(
      "The incumbent is {}{}, made in iteration {}. The table is its confirmation: other "
      "samples than those it was selected by, from fresh processes.\n\n",
      incumbent_name(page), cite(facts.wins.back()->incumbent_changed->seq),
      facts.wins.back()->number);
  out += comparison_table(facts, page.held, "incumbent") + "\n";
  if (page.steps.size() < 2) return out;
  out += fmt::format(
      "Over the start {}: the confirmed steps multiplied; incumbent and start were not "
      "measured side by side.\n\n",
      code(facts.start, 60));
  Table table(
      {"iteration>", "variant", "speedup over the incumbent before>", "interval>", "event"});
  const auto total = gain(page, facts.plan);
  for (std::size_t i = 0; i < page.steps.size(); ++i) {
    const IterationView& win = *facts.wins[i];
    const Compared* figure = objective_figure(facts, page.steps[i], facts.plan);
    const bool confirmed = figure != nullptr && figure->phase == "confirmation";
    const Ratio step = confirmed ? figure->ratio : ratio(win.incumbent_changed->payload);
    const auto exact = [](std::optional<double> value) {
      return value ? fixed(*value, k_step_decimals) : std::string("not recorded");
    };
    table.row({fmt::format("{}", win.number), code(text(win.incumbent_changed->payload, "to"), 60),
               exact(step.value) + "x", "[" + exact(step.low) + ", " + exact(step.high) + "]",
               ref(confirmed ? figure->seq : win.incumbent_changed->seq)});
  }
  if (total) {
    table.row({"", "**product**", fixed(*total->ratio.value, k_step_decimals) + "x",
               total->ratio.low ? fmt::format("[{}, {}]", fixed(*total->ratio.low, k_step_decimals),
                                              fixed(*total->ratio.high, k_step_decimals))
                                : "not known",
               ""});
  }
  return out + table.str() + "\n";
}

}  // namespace wb::page
