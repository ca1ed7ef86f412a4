// SPDX-License-Identifier: MIT
// reports/session.md: the report of two pages, for somebody who has to decide. It answers what was
// asked, what won and why, where not, what it cost and what is next. reports/session_full.md has
// the rest.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "core/json.hpp"
#include "report/report.hpp"
#include "report/summary.hpp"
#include "session/goals.hpp"
#include "session/session.hpp"

namespace wb::report::summary {

using session::CostItem;
using session::Fact;
using session::SessionStatus;

std::string cite_ends(std::vector<std::int64_t> events) {
  if (events.empty()) return {};
  const auto [first, last] = std::minmax_element(events.begin(), events.end());
  return *first == *last ? cite(*first) : fmt::format("{} to {}", cite(*first), ref(*last));
}

Ratio ratio_of(const outcome::Figure& figure) {
  Ratio ratio;
  if (figure.speedup > 0) ratio.value = figure.speedup;
  if (measure::is_valid(figure.interval)) {
    ratio.low = figure.interval.low;
    ratio.high = figure.interval.high;
  }
  return ratio;
}

Ratio ratio_of(const measure::Aggregate& mean) {
  return ratio_of(outcome::Figure{.speedup = mean.value, .interval = mean.interval});
}

std::string bare_speedup(const outcome::Figure& figure) {
  const Ratio ratio = ratio_of(figure);
  return ratio.value ? fixed(*ratio.value, ratio_decimals(ratio)) + "x" : "no figure";
}

std::string problem_names(const outcome::Group& group, const std::vector<std::size_t>& problems,
                          std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < std::min(problems.size(), most); ++i) {
    out += (i == 0 ? "" : ", ") + inline_text(group.problems[problems[i]].name, 50);
  }
  return problems.size() > most ? fmt::format("{} and {} more", out, problems.size() - most) : out;
}

bool is_recommended(const Page& page, const std::string& variant) {
  const std::vector<outcome::Part>& parts = page.conclusion.recommendation.parts;
  return !variant.empty() &&
         std::any_of(parts.begin(), parts.end(),
                     [&](const outcome::Part& part) { return part.variant == variant; });
}

namespace {

constexpr std::size_t k_most_words = 860, k_named_losses = 3;

std::string of_problems(std::size_t n) {
  return count(static_cast<std::int64_t>(n), "problem");
}

// Goals
// -------------------------------------------------------------------------------------------

/// One row of the table of goals.
struct GoalRow {
  std::string goal, result;
  session::GoalState state = session::GoalState::undecided;
};

/// A goal of a playbook that noted what came of it: "NAME: …, 1.181 reached; …; goal missed".
std::optional<GoalRow> noted_goal(const Fact& note) {
  constexpr std::string_view k_state = "; goal ";
  const std::string said = text(note.payload, "text");
  const std::size_t colon = said.find(": "), state = said.find(k_state);
  if (colon == std::string::npos || state == std::string::npos || colon > state) return {};
  const std::size_t word = state + k_state.size();
  const std::string found = said.substr(word, said.find(';', word) - word);
  if (found != "reached" && found != "missed") return {};
  const std::size_t figures = said.find(';');
  if (figures < colon) return {};
  return GoalRow{inline_text(said.substr(0, colon), 60),
                 inline_text(said.substr(colon + 2, figures - colon - 2), 80) + cite(note.seq),
                 found == "reached" ? session::GoalState::reached : session::GoalState::missed};
}

/// Missed goals first, then undecided ones.
std::vector<GoalRow> goals_shown(const Page& page) {
  std::vector<GoalRow> rows;
  for (const auto& [goal, result] : session::goals_of(page.facts.view)) {
    rows.push_back({code(goal.text, 100), goal_words(goal, result) + cite_ends(result.events),
                    result.state});
  }
  if (rows.empty()) {
    for (const Fact& note : page.facts.view.notes) {
      if (auto row = noted_goal(note)) rows.push_back(*std::move(row));
    }
  }
  const auto rank = [](const GoalRow& row) {
    return row.state == session::GoalState::missed      ? 0
           : row.state == session::GoalState::undecided ? 1
                                                        : 2;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const GoalRow& a, const GoalRow& b) { return rank(a) < rank(b); });
  return rows;
}

/// "5 of 6 reached; missed: D 64".
std::string goal_summary(const std::vector<GoalRow>& rows) {
  std::size_t reached = 0;
  std::string others;
  for (const GoalRow& row : rows) {
    if (row.state == session::GoalState::reached) {
      ++reached;
      continue;
    }
    others += fmt::format("{}{}: {}", others.empty() ? "; " : ", ", to_string(row.state), row.goal);
  }
  return fmt::format("{} of {} reached{}.", reached, rows.size(), others);
}

std::string goal_section(const std::vector<GoalRow>& rows, const Size& size) {
  if (rows.empty()) return {};
  Table table({"goal", "state", "result"});
  for (std::size_t i = 0; i < std::min(rows.size(), size.rows); ++i) {
    table.row({rows[i].goal, std::string(to_string(rows[i].state)), rows[i].result});
  }
  std::string out = table.str() + "\n";
  if (rows.size() > size.rows) {
    out += fmt::format("{} more goals are in the whole report.\n\n", rows.size() - size.rows);
  }
  return out;
}

// What was asked
// ----------------------------------------------------------------------------------

std::string rule_of(const Facts& facts) {
  if (facts.rule == "geomean_speedup") return "the geometric mean of the speedups";
  if (facts.rule == "weighted_time") return "the weighted sum of the times";
  if (facts.rule == "one_problem") return "the speedup on one problem";
  return facts.rule.empty() ? "not recorded" : inline_text(facts.rule, 40);
}

std::string budget_of(const Json& budget) {
  std::vector<std::string> limits;
  bool is_zero = false;
  if (const auto limit = integer(budget, "evaluations")) {
    limits.push_back(count(*limit, "evaluation"));
    is_zero = is_zero || *limit == 0;
  }
  if (const auto limit = number(budget, "wall_s")) {
    limits.push_back(duration(*limit));
    is_zero = is_zero || *limit == 0;
  }
  if (const auto limit = number(budget, "usd")) {
    limits.push_back("$" + fixed(*limit, 2));
    is_zero = is_zero || *limit == 0;
  }
  if (limits.empty()) return {};
  std::string out;
  for (const std::string& limit : limits) out += (out.empty() ? " Budget: " : ", ") + limit;
  return out + (is_zero ? ". With a budget of zero no iteration may run." : ".");
}

std::string asked_section(const Page& page, const std::vector<GoalRow>& goals, const Size& size) {
  const Facts& facts = page.facts;
  const Json& opened = facts.view.opened.payload;
  const auto held_out = static_cast<std::size_t>(
      std::count_if(facts.suite.begin(), facts.suite.end(),
                    [](const SuiteEntry& entry) { return entry.held_out; }));
  const std::string suite = text(field(opened, "suite"), "name");
  std::string rivals;
  for (const auto& [name, rival] : facts.rivals) {
    rivals += (rivals.empty() ? "" : ", ") + code(name, 40);
  }
  std::string out = "## What was asked\n\n" + goal_section(goals, size);
  out += fmt::format("Make {} faster on {}{}{}{}. What counts is {}, {}. {}",
                     facts.start.empty() ? std::string("a kernel") : code(facts.start, 60),
                     facts.suite.empty() ? std::string("problems that the log does not name")
                                         : of_problems(facts.suite.size() - held_out),
                     suite.empty() ? "" : " of suite " + code(suite, 40),
                     held_out > 0 ? fmt::format(", {} more held out", held_out) : "",
                     cite(facts.view.opened.seq), rule_of(facts),
                     inline_text(facts.plan_label(facts.plan), 30),
                     rivals.empty() ? "No rival was named." : "Rivals: " + rivals + ".");
  return out + budget_of(field(opened, "budget")) + "\n\n";
}

// Results
// -----------------------------------------------------------------------------------------

const outcome::Standing* taken_on(const outcome::Group& group, std::size_t at) {
  return at < group.by_problem.variants.size()
             ? group.problems[at].find(group.by_problem.variants[at])
             : nullptr;
}

std::string counts_of(const outcome::Total& rivals) {
  std::string out = fmt::format("ahead on {} of {}", rivals.faster.size(), rivals.measured());
  const auto add = [&](std::size_t n, const char* word) {
    if (n > 0) out += fmt::format(", {} {}", word, n);
  };
  add(rivals.same.size(), "the same on");
  add(rivals.slower.size(), "behind on");
  add(rivals.undecided.size(), "undecided on");
  add(rivals.missing.size(), "not compared on");
  return out;
}

std::string why_no_rival(const Facts& facts) {
  if (facts.rivals.empty()) return "No rival was measured, so its place beside others is not known.";
  for (const auto& [name, rival] : facts.rivals) {
    if (rival.built && rival.failed.empty()) continue;
    return fmt::format("The rival {} failed{}: {}. So no rival has a figure.", code(name, 40),
                       cite(rival.failure_seq), brief(rival.failure, 80));
  }
  return "No rival has a figure beside it.";
}

std::string over_start_words(const Page& page, const outcome::Group& group) {
  if (!advises_change(page)) return {};
  const outcome::Total& total = group.by_problem.over_start;
  if (takes_incumbent(page)) {
    const auto found = gain(page, page.facts.plan);
    if (!found) return {};
    return fmt::format(" Over the start it is {}{}.", speedup(found->ratio),
                       cite_ends(found->events));
  }
  if (!total.mean || total.measured() == 0) return {};
  return fmt::format(" Over the start it is {} on average{}{}.", speedup(ratio_of(*total.mean)),
                     total.missing.empty() ? std::string()
                                           : fmt::format(" of {}", of_problems(total.measured())),
                     cite_ends(total.events));
}

std::string where_measured(const outcome::Group& group) {
  if (group.is_suite) return {};
  return fmt::format(" These problems were compared between iterations, {}{}{}.",
                     inline_text(group.plan, 20), group.regime.empty() ? "" : " ",
                     inline_text(group.regime, 20));
}

std::string result_words(const Page& page) {
  const outcome::Outcome& made = page.conclusion;
  const outcome::Group* group = made.main_group();
  if (group == nullptr) {
    if (made.recommendation.advice == outcome::Advice::run_iterations) {
      return "None yet: only the start was measured, beside no rival.";
    }
    if (page.facts.baseline == nullptr) return "None yet: the baseline was not begun.";
    return page.facts.baseline->is_closed()
               ? "None: the baseline ended without a figure that counts."
               : "None yet: the baseline is not finished.";
  }
  const outcome::Total& rivals = group->by_problem.over_rival;
  std::string out;
  if (rivals.mean && rivals.measured() > 0) {
    out = fmt::format("{} over the fastest rival on average{}, {}.",
                      speedup(ratio_of(*rivals.mean)), cite_ends(rivals.events),
                      counts_of(rivals));
  } else if (rivals.measured() > 0) {
    out = "Over the fastest rival: " + counts_of(rivals) + cite_ends(rivals.events) + ".";
  } else {
    out = why_no_rival(page.facts);
  }
  const double bias = group->by_problem.selection_bias;
  // A smaller bias changes no decision.
  if (rivals.mean && (bias > 1.01 || bias < 0.99)) {
    out += " " + told(outcome::bias_words(made).substr(1));
  }
  if (!advises_change(page)) out += " Nothing was shown faster than the start.";
  return out + over_start_words(page, *group) + where_measured(*group);
}

std::string named(const std::vector<outcome::Loss>& losses) {
  std::string out;
  for (std::size_t i = 0; i < std::min(losses.size(), k_named_losses); ++i) {
    const outcome::Loss& loss = losses[i];
    out += fmt::format("{}{} {}{}{}", i == 0 ? "" : ", ", inline_text(loss.problem, 50),
                       bare_speedup(loss.figure),
                       loss.against.empty() ? "" : " of " + code(base_name(loss.against), 40),
                       cite_ends(loss.figure.events));
  }
  return losses.size() > k_named_losses
             ? fmt::format("{} and {} more", out, losses.size() - k_named_losses)
             : out;
}

/// Where the recommendation is behind, by name and figure.
std::string lost_words(const Page& page) {
  const outcome::Group* group = page.conclusion.main_group();
  if (group == nullptr) return "nothing is measured that could be lost.";
  const outcome::Losses losses = outcome::losses_of(page.conclusion);
  const outcome::Total& rivals = group->by_problem.over_rival;
  std::string out;
  if (!losses.to_rivals.empty()) {
    out += fmt::format("{} of {} to a rival: {}.", losses.to_rivals.size(),
                       of_problems(rivals.measured()), named(losses.to_rivals));
  } else if (rivals.measured() > 0) {
    out += fmt::format("0 of {} to a rival.", of_problems(rivals.measured()));
  } else {
    out += "to rivals unknown.";
  }
  if (!losses.to_start.empty()) out += " Slower than the start: " + named(losses.to_start) + ".";
  if (!losses.of_incumbent.empty()) {
    out += fmt::format(" {} alone is slower than the start on {}.",
                       code(page.conclusion.incumbent, 60), named(losses.of_incumbent));
  }
  if (!rivals.undecided.empty()) {
    out += " Undecided: " + problem_names(*group, rivals.undecided, 3) + ".";
  }
  return out;
}

/// What was measured apart from the problems that the recommendation is about.
std::string other_groups_words(const Page& page) {
  std::string out;
  const outcome::Group* main = page.conclusion.main_group();
  std::size_t n = 0;
  for (const outcome::Group& group : page.conclusion.groups) {
    const outcome::Total& rivals = group.by_problem.over_rival;
    if (&group == main || rivals.measured() == 0 || ++n > 2) continue;
    out += fmt::format("Measured apart, {}{}{}: the best choice is {}{}{}. ",
                       inline_text(group.plan, 20), group.regime.empty() ? "" : " ",
                       inline_text(group.regime, 20), counts_of(rivals),
                       rivals.mean ? ", " + speedup(ratio_of(*rivals.mean)) : std::string(),
                       cite_ends(rivals.events));
  }
  return out.empty() ? out : out + "\n\n";
}

std::string figure_cell(const std::optional<outcome::Figure>& figure) {
  if (!figure) return "not compared";
  if (figure->events.empty()) return "the same variant";
  return bare_speedup(*figure) + cite_ends(figure->events);
}

std::string place_of(const outcome::Standing* standing) {
  using measure::ComparisonOutcome;
  if (standing == nullptr || !standing->over_rival) return "no rival";
  switch (standing->over_rival->outcome) {
    case ComparisonOutcome::faster: return "ahead";
    case ComparisonOutcome::slower: return "behind";
    case ComparisonOutcome::same: return "same";
    case ComparisonOutcome::ambiguous: return "undecided";
  }
  return {};
}

/// By rising figure over the rival, then over the start; problems without a figure come last.
std::vector<std::size_t> by_figure(const outcome::Group& group) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < group.problems.size(); ++i) {
    if (!group.problems[i].held_out && taken_on(group, i) != nullptr) order.push_back(i);
  }
  const auto key = [&](std::size_t at) {
    const outcome::Standing& standing = *taken_on(group, at);
    if (standing.over_rival) return std::pair(0, standing.over_rival->speedup);
    return standing.over_start ? std::pair(1, standing.over_start->speedup) : std::pair(2, 0.0);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

/// "1.01x [e5] to 1.31x [e9]" of the problems left out of the table.
std::string range_cell(const outcome::Group& group, const std::vector<std::size_t>& order,
                       std::size_t from, std::size_t to) {
  const outcome::Standing &low = *taken_on(group, order[from]),
                          &high = *taken_on(group, order[to - 1]);
  if (!low.over_rival || !high.over_rival) return "-";
  return figure_cell(low.over_rival) + " to " + figure_cell(high.over_rival);
}

std::string problem_section(const Page& page, const Size& size) {
  const outcome::Group* group = page.conclusion.main_group();
  if (group == nullptr) return {};
  const std::vector<std::size_t> order = by_figure(*group);
  if (order.empty()) return {};
  // A column that says the same everywhere is left out.
  std::set<std::string> taken, rivals;
  bool has_start = false;
  for (const std::size_t at : order) {
    const outcome::Standing& standing = *taken_on(*group, at);
    taken.insert(standing.variant);
    rivals.insert(std::string(base_name(standing.rival)));
    has_start = has_start || (standing.over_start && !standing.over_start->events.empty());
  }
  std::vector<std::string> header{"problem"};
  if (taken.size() > 1) header.emplace_back("take");
  if (has_start) header.emplace_back("over the start>");
  header.push_back(rivals.size() == 1 && !rivals.begin()->empty()
                       ? "over " + code(*rivals.begin(), 40) + ">"
                       : "over the fastest rival>");
  header.emplace_back("place");
  if (rivals.size() > 1) header.emplace_back("that rival");
  Table table(header);
  const auto add = [&](std::size_t at) {
    const outcome::Standing& standing = *taken_on(*group, at);
    std::vector<std::string> cells{inline_text(group->problems[at].name, 50)};
    if (taken.size() > 1) cells.push_back(code(standing.variant, 60));
    if (has_start) cells.push_back(figure_cell(standing.over_start));
    cells.push_back(figure_cell(standing.over_rival));
    cells.push_back(place_of(&standing));
    if (rivals.size() > 1) {
      cells.push_back(standing.rival.empty() ? "-" : code(base_name(standing.rival), 40));
    }
    table.row(std::move(cells));
  };
  // Of a long list both ends are shown.
  const bool is_long = order.size() > size.rows;
  const std::size_t lows = is_long ? size.rows / 2 : order.size(),
                    highs = is_long ? size.rows - 1 - lows : 0;
  for (std::size_t i = 0; i < lows; ++i) add(order[i]);
  if (is_long) {
    std::vector<std::string> cells{
        fmt::format("{} between", order.size() - lows - highs)};
    if (taken.size() > 1) cells.emplace_back("");
    if (has_start) cells.emplace_back("");
    cells.push_back(range_cell(*group, order, lows, order.size() - highs));
    table.row(std::move(cells));
  }
  for (std::size_t i = order.size() - highs; i < order.size(); ++i) add(order[i]);
  return "## Problem by problem\n\nThe weakest problem first.\n\n" + table.str() + "\n";
}

// Cost
// --------------------------------------------------------------------------------------------

/// A sum with the digits that a reader needs; the table has all of them.
std::string rounded_usd(const Page& page) {
  const CostRow& total = page.costs.total();
  const bool is_whole = std::all_of(total.cells.begin(), total.cells.end(),
                                    [](const CostCell& cell) { return !cell.used || cell.priced; });
  const double usd = page.costs.known_usd(total);
  if (!is_whole || usd < 0.1) return page.costs.usd(total);
  const bool is_listed = std::any_of(total.cells.begin(), total.cells.end(),
                                     [](const CostCell& cell) { return cell.listed; });
  return "$" + fixed(usd, 2) + std::string(list_mark(is_listed));
}

std::string cost_words(const Page& page) {
  std::string out = page.costs.rows().empty() ? std::string("nothing was debited")
                                              : rounded_usd(page);
  const auto wall_s = seconds_between(page.facts.view.opened.t, page.facts.view.last_t);
  if (wall_s) out += "; " + duration(*wall_s) + " from opening to the last event";
  return out + ".";
}

/// The debits of one item, over the whole session.
std::vector<std::int64_t> debits_of(const session::SessionView& view, std::string_view item) {
  std::vector<std::int64_t> events;
  const auto add = [&](const session::IterationView& part) {
    for (const Fact& fact : part.costs) {
      if (text(fact.payload, "item") == item) events.push_back(fact.seq);
    }
  };
  add(view.outside);
  for (const session::IterationView& iteration : view.iterations) add(iteration);
  return events;
}

std::string money_section(const Page& page) {
  const session::SessionView& view = page.facts.view;
  const CostRow& total = page.costs.total();
  std::string out = "## What it cost\n\n";
  Table table({"item", "used>", "money>"});
  for (const auto& [item, word] :
       {std::pair{CostItem::device, "device"}, std::pair{CostItem::compile_cpu, "compile_cpu"},
        std::pair{CostItem::tokens, "tokens"}}) {
    const CostCell& cell = total.cells[static_cast<std::size_t>(item)];
    if (!cell.used) continue;
    table.row({std::string(item_title(item)),
               fmt::format("{} {}{}", page.costs.quantity(item, cell), item_unit(item),
                           cite_ends(debits_of(view, word))),
               page.costs.usd(cell)});
  }
  if (table.empty()) {
    out += "Nothing was debited.";
  } else {
    table.row({"all", "", page.costs.usd(total)});
    out += table.str() + "\n";
    const auto wall_s = seconds_between(view.opened.t, view.last_t);
    if (wall_s) {
      out += fmt::format("The session took {}{} to {}.", duration(*wall_s), cite(view.opened.seq),
                         ref(view.events));
    }
  }
  if (view.in_flight() == nullptr && view.undebited.count > 0) {
    out += fmt::format(" Not debited: {}, {} of timing alone{}.",
                       count(view.undebited.count, "turn"), duration(view.undebited.timed_s),
                       cite_ends({view.undebited.first_seq, view.undebited.last_seq}));
  }
  return out + "\n\n";
}

// Decision
// ----------------------------------------------------------------------------------------

std::string device_of(const Facts& facts) {
  if (!facts.view.environment) return {};
  return text(field(facts.view.environment->payload, "device"), "name");
}

/// What other plans say of the incumbent, where it is what is recommended.
std::string other_plans(const Page& page) {
  std::string out;
  if (!takes_incumbent(page)) return out;
  for (const std::string& plan : page.facts.plans) {
    if (plan == page.facts.plan || !is_rival_compared(page)) continue;
    const std::string cell = sdpa_cell(page, plan);
    if (cell == "not measured" || cell == "not on every problem") continue;
    out += fmt::format("- Under {} it is, over the rivals: {}.\n", inline_text(plan, 20), cell);
  }
  return out;
}

std::string conditions(const Page& page) {
  const outcome::Outcome& made = page.conclusion;
  const outcome::Group& group = *made.main_group();
  const outcome::Losses losses = outcome::losses_of(made);
  const std::string device = device_of(page.facts);
  std::string out = fmt::format(
      "- It holds for problems like these{}, {}.\n",
      device.empty() ? std::string() : " on " + inline_text(device, 60),
      group.is_suite ? inline_text(page.facts.plan_label(page.facts.plan), 30)
                     : inline_text(group.plan + " " + group.regime, 40));
  if (made.recommendation.confirmation) {
    out += "- The parts were measured in separate runs: confirm them in one first.\n";
  }
  if (!made.recommendation.keep_rival.empty()) {
    out += fmt::format("- A rival is faster on {}: {}. Keep it there.\n",
                       of_problems(made.recommendation.keep_rival.size()),
                       problem_names(group, made.recommendation.keep_rival, 4));
  }
  if (!losses.to_start.empty()) {
    out += "- If these matter, keep the start for them: " + named(losses.to_start) + ".\n";
  }
  out += other_plans(page);
  for (const auto& [name, rival] : page.facts.rivals) {
    if (rival.version_seq == 0) continue;
    out += fmt::format("- Measure again when {} changes; it was {}{}.\n", code(name, 40),
                       inline_text(rival.version, 60), cite(rival.version_seq));
    break;
  }
  if (page.facts.view.status != SessionStatus::closed) {
    out += "- The session is not closed, so this may change.\n";
  }
  return out;
}

/// What going on and stopping would cost.
std::string options(const Page& page) {
  double device_s = 0, usd = 0;
  bool is_priced = true, is_listed = false;
  std::size_t n = 0;
  for (const session::IterationView* iteration : page.facts.tries) {
    if (!iteration->closed) continue;
    const auto found = iteration->ledger.items.find(CostItem::device);
    if (found != iteration->ledger.items.end()) device_s += found->second.quantity;
    const session::Ledger::Total total = page.facts.prices.priced(iteration->ledger).total();
    usd += total.usd;
    is_priced = is_priced && total.complete;
    is_listed = is_listed || total.is_listed;
    ++n;
  }
  std::string out = "Or go on with the next steps";
  if (n > 0) {
    const auto tries = static_cast<double>(n);
    out += fmt::format(": an iteration took {} of the device", duration(device_s / tries));
    if (is_priced && usd > 0) {
      out += fmt::format(" and ${}{}", fixed(usd / tries, usd / tries < 0.1 ? 3 : 2),
                         list_mark(is_listed));
    }
    out += " on average";
  }
  return out + ". Or stop: the session keeps everything.\n\n";
}

std::string decision(const Page& page) {
  const session::SessionView& view = page.facts.view;
  std::string out = "## Decision\n\n";
  const bool is_start =
      page.conclusion.recommendation.advice == outcome::Advice::keep_start;
  if (page.conclusion.main_group() == nullptr || !(is_start || advises_change(page))) {
    out += advice(page) + "\n\n";
  } else {
    out += (advises_change(page) ? "Take the recommendation if these hold:\n\n"
                                 : "Keep the start. What to know of that:\n\n") +
           conditions(page) + "\n" + options(page);
  }
  if (view.closed) {
    const std::string said = text(view.closed->payload, "recommendation");
    if (!said.empty()) {
      out += fmt::format("The author advised{}: {}\n\n", cite(view.closed->seq), brief(said, 200));
    }
  }
  if (!view.decisions.empty()) {
    const Fact& last = view.decisions.back();
    out += fmt::format("Decided{}: {}: {}\n\n", cite(last.seq),
                       brief(text(last.payload, "question"), 100),
                       brief(text(last.payload, "choice"), 100));
  }
  return out;
}

std::string step_table(const std::vector<Step>& steps, const Size& size) {
  std::string out = "## What is next\n\n";
  if (steps.empty()) return out + "Nothing that was measured asks for a next step.\n\n";
  Table table({"step", "gain", "effort", "risk"});
  for (std::size_t i = 0; i < std::min(steps.size(), size.steps); ++i) {
    table.row({steps[i].what, steps[i].gain, steps[i].effort, steps[i].risk});
  }
  return out + table.str() + "\n";
}

// The page
// ----------------------------------------------------------------------------------------

std::string heading(const Page& page) {
  const session::SessionView& view = page.facts.view;
  const Json& opened = view.opened.payload;
  std::string name = text(opened, "session");
  if (name.empty()) name = "without a name";
  const std::string title = text(opened, "title"), device = device_of(page.facts);
  std::string status;
  if (view.closed) {
    const std::string reason = text(view.closed->payload, "reason");
    status = "Closed" + cite(view.closed->seq) + (reason.empty() ? "" : ": " + brief(reason, 100));
  } else if (const session::IterationView* flight = view.in_flight()) {
    status = fmt::format("Not closed: iteration {} is in flight{}", flight->number,
                         cite(flight->opened.seq));
  } else {
    status = view.status == SessionStatus::paused ? "Paused, not closed" : "Open, not closed";
  }
  return fmt::format(
      "# Session {}{}{}\n\n{}{}{}.\n\n", inline_text(name, 80),
      title.empty() ? "" : ": " + brief(title, 120),
      field(opened, session::k_redacted_key).is_object() ? " (redacted copy)" : "",
      device.empty() ? "" : inline_text(device, 60) + ", ",
      view.last_t.size() < 10 ? "" : plain(view.last_t.substr(0, 10)) + ". ", status);
}

std::string digest(const Page& page, const std::vector<GoalRow>& goals,
                   const std::vector<std::string>& why, const std::vector<Step>& steps) {
  std::string out;
  const auto line = [&](const char* name, const std::string& words) {
    out += fmt::format("- **{}:** {}\n", name, words);
  };
  if (!goals.empty()) line("Goals", goal_summary(goals));
  line("Recommendation", advice(page));
  line("Result", result_words(page));
  line("Lost", lost_words(page));
  line("Cause", why.front());
  line("Cost", cost_words(page));
  line("Next", steps.empty() ? "nothing that was measured asks for it." : steps.front().what + ".");
  return out + "\n";
}

std::string why_section(const std::vector<std::string>& why) {
  if (why.size() < 2) return {};  // the digest has it
  std::string out = "## Why\n\n";
  for (std::size_t i = 1; i < why.size(); ++i) out += "- " + why[i] + "\n";
  return out + "\n";
}

std::string foot(const Page& page) {
  const Json& redacted = field(page.facts.view.opened.payload, session::k_redacted_key);
  return fmt::format(
      "---\n\nA figure such as 1.20x is the other's time over this one's: above 1 is faster. "
      "Brackets hold its interval; [eN] names the event (`sdpa-wb show eN`). The whole report: "
      "`session_full.md` of the session, or `sdpa-wb report --kind full`. Log head `{}`.{}\n",
      plain(page.facts.view.log_head.substr(0, 12)),
      redacted.is_object() ? " The original's head was `" +
                                 plain(text(redacted, "log_head").substr(0, 12)) + "`."
                           : std::string());
}

/// Words as a reader counts them: the bars and rules of tables are none.
std::size_t words_in(std::string_view page) {
  std::size_t n = 0;
  bool has_letter = false;
  for (const char c : page) {
    if (c == ' ' || c == '\n') {
      n += has_letter ? 1 : 0;
      has_letter = false;
    } else {
      has_letter = has_letter || std::isalnum(static_cast<unsigned char>(c)) != 0;
    }
  }
  return n + (has_letter ? 1 : 0);
}

std::string assembled(const Page& page, const Size& size) {
  const std::vector<GoalRow> goals = goals_shown(page);
  const std::vector<std::string> why = reasons(page);
  const std::vector<Step> steps = steps_ahead(page);
  return heading(page) + digest(page, goals, why, steps) + asked_section(page, goals, size) +
         problem_section(page, size) + other_groups_words(page) + why_section(why) +
         tried_section(page, size) + money_section(page) + step_table(steps, size) +
         decision(page) + foot(page);
}

}  // namespace

}  // namespace wb::report::summary

namespace wb::report {

std::string render_summary(const session::SessionView& view) {
  constexpr std::array k_sizes{summary::Size{}, summary::Size{7, 4, 56}, summary::Size{5, 4, 40},
                               summary::Size{4, 3, 30}, summary::Size{3, 2, 24}};
  const Page page(view);
  std::string out;
  for (const summary::Size& size : k_sizes) {
    out = summary::assembled(page, size);
    if (summary::words_in(out) <= summary::k_most_words) break;
  }
  return out;
}

}  // namespace wb::report
