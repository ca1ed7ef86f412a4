// SPDX-License-Identifier: MIT
// Of the report of two pages: words for figures, what won and what was lost, problem by problem,
// and what it cost.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/json.hpp"
#include "report/summary.hpp"

namespace wb::report::two_pages {

using session::CostItem;
using session::Fact;

std::string cite_ends(const std::vector<std::int64_t>& events) {
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
  return ratio_of(outcome::Figure{mean.value, mean.interval, {}, {}});
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

std::string of_problems(std::size_t n) {
  return count(static_cast<std::int64_t>(n), "problem");
}

namespace {

constexpr std::size_t k_named_losses = 3;

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
  if (facts.rivals.empty())
    return "No rival was measured, so its place beside others is not known.";
  for (const auto& [name, rival] : facts.rivals) {
    if (rival.built && rival.failed.empty()) continue;
    return fmt::format("The rival {} failed{}: {}. So no rival has a figure.", code(name, 40),
                       cite(rival.failure_seq), clause(rival.failure, 80));
  }
  return "No rival has a figure beside it.";
}

std::string over_start_words(const Page& page, const outcome::Group& group) {
  if (!advises_change(page)) return {};
  const outcome::Total& total = group.by_problem.over_start;
  // The incumbent's gain is the product of its confirmed steps, as the whole report prints it.
  const auto found = takes_incumbent(page) ? gain(page, page.facts.plan) : std::nullopt;
  if (found) {
    return fmt::format(" Over the start it is {}{}.", speedup(found->ratio),
                       cite_ends(found->events));
  }
  if (!total.mean || total.measured() == 0) return {};
  return fmt::format(
      " Over the start it is {} on average{}{}.", speedup(ratio_of(*total.mean)),
      total.missing.empty() ? std::string() : fmt::format(" of {}", of_problems(total.measured())),
      cite_ends(total.events));
}

}  // namespace

std::string result_words(const Page& page) {
  const outcome::Outcome& made = page.conclusion;
  const outcome::Group* group = made.main_group();
  if (group == nullptr) {
    if (!page.facts.tries.empty() && page.conclusion.iterations > 0) {
      return "None: no iteration gave a figure that counts.";
    }
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
                      speedup(ratio_of(*rivals.mean)), cite_ends(rivals.events), counts_of(rivals));
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
  return out + over_start_words(page, *group);
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
    out += page.facts.rivals.empty() ? "no rival was measured." : "no rival has a figure.";
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
  const outcome::Group* advised = page.conclusion.main_group();
  std::size_t n = 0;
  for (const outcome::Group& group : page.conclusion.groups) {
    const outcome::Total& rivals = group.by_problem.over_rival;
    if (&group == advised || rivals.measured() == 0 || ++n > 2) continue;
    out += fmt::format("Measured apart, {}{}{}: the best choice is {}{}{}. ",
                       inline_text(group.plan, 20), group.regime.empty() ? "" : " ",
                       inline_text(group.regime, 20), counts_of(rivals),
                       rivals.mean ? ", " + speedup(ratio_of(*rivals.mean)) : std::string(),
                       cite_ends(rivals.events));
  }
  return out.empty() ? out : out + "\n\n";
}

namespace {

std::string figure_cell(const std::optional<outcome::Figure>& figure) {
  if (!figure) return "not compared";
  if (figure->events.empty()) return "the same variant";
  return bare_speedup(*figure) + cite_ends(figure->events);
}

std::string place_of(const outcome::Standing* standing) {
  using measure::ComparisonOutcome;
  if (standing == nullptr || !standing->over_rival) return "no rival";
  switch (standing->over_rival->outcome) {
    case ComparisonOutcome::faster:
      return "ahead";
    case ComparisonOutcome::slower:
      return "behind";
    case ComparisonOutcome::same:
      return "same";
    case ComparisonOutcome::ambiguous:
      return "undecided";
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

/// What the table of problems shows. A column that says the same everywhere is left out, and so
/// are those about rivals where none has a figure.
struct Columns {
  bool has_taken = false, has_start = false, has_rivals = false, has_names = false;
  std::vector<std::string> header{"problem"};
};

Columns columns_for(const outcome::Group& group, const std::vector<std::size_t>& order) {
  std::set<std::string> taken, rivals;
  Columns columns;
  for (const std::size_t at : order) {
    const outcome::Standing& standing = *taken_on(group, at);
    taken.insert(standing.variant);
    rivals.insert(std::string(base_name(standing.rival)));
    columns.has_start =
        columns.has_start || (standing.over_start && !standing.over_start->events.empty());
    columns.has_rivals = columns.has_rivals || standing.over_rival.has_value();
  }
  columns.has_taken = taken.size() > 1;
  columns.has_names = columns.has_rivals && rivals.size() > 1;
  if (columns.has_taken) columns.header.emplace_back("take");
  if (columns.has_start) columns.header.emplace_back("over the start>");
  if (columns.has_rivals) {
    columns.header.push_back(rivals.size() == 1 ? "over " + code(*rivals.begin(), 40) + ">"
                                                : "over the fastest rival>");
    columns.header.emplace_back("place");
  }
  if (columns.has_names) columns.header.emplace_back("that rival");
  return columns;
}

/// "1.01x [e5] to 1.31x [e9]" of the problems left out of the table.
std::string range_cell(const std::optional<outcome::Figure>& low,
                       const std::optional<outcome::Figure>& high) {
  return low && high ? figure_cell(low) + " to " + figure_cell(high) : "-";
}

}  // namespace

std::string problem_section(const Page& page, const Size& size) {
  const outcome::Group* group = page.conclusion.main_group();
  if (group == nullptr) return {};
  const std::vector<std::size_t> order = by_figure(*group);
  if (order.empty()) return {};
  const Columns columns = columns_for(*group, order);
  // One column alone says nothing.
  if (columns.header.size() == 1) return {};
  Table table(columns.header);
  const auto add = [&](std::size_t at) {
    const outcome::Standing& standing = *taken_on(*group, at);
    std::vector<std::string> cells{inline_text(group->problems[at].name, 50)};
    if (columns.has_taken) cells.push_back(code(standing.variant, 60));
    if (columns.has_start) cells.push_back(figure_cell(standing.over_start));
    if (columns.has_rivals) {
      cells.push_back(figure_cell(standing.over_rival));
      cells.push_back(place_of(&standing));
    }
    if (columns.has_names) {
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
    const outcome::Standing &low = *taken_on(*group, order[lows]),
                            &high = *taken_on(*group, order[order.size() - highs - 1]);
    std::vector<std::string> cells{fmt::format("{} between", order.size() - lows - highs)};
    if (columns.has_taken) cells.emplace_back("");
    // The list is in the order of the figures over the rivals, where there are any.
    if (columns.has_start) {
      cells.push_back(columns.has_rivals ? std::string()
                                         : range_cell(low.over_start, high.over_start));
    }
    if (columns.has_rivals) cells.push_back(range_cell(low.over_rival, high.over_rival));
    table.row(std::move(cells));
  }
  for (std::size_t i = order.size() - highs; i < order.size(); ++i) add(order[i]);
  return "## Problem by problem\n\nThe weakest problem first.\n\n" + table.str() + "\n";
}

namespace {

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

}  // namespace

std::string cost_words(const Page& page) {
  std::string out =
      page.costs.rows().empty() ? std::string("nothing was debited") : rounded_usd(page);
  const auto wall_s = seconds_between(page.facts.view.opened.t, page.facts.view.last_t);
  if (wall_s) out += "; " + duration(*wall_s) + " from opening to the last event";
  return out + ".";
}

namespace {

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

}  // namespace

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

}  // namespace wb::report::two_pages
