// SPDX-License-Identifier: MIT
// Of the report of two pages: words for figures, what won and what was lost, what was measured
// apart, and what it cost.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.hpp"
#include "report/summary.hpp"

namespace wb::report::two_pages {

using session::CostItem;
using session::Fact;

std::string cite_ends(const std::vector<std::int64_t>& events) {
  const std::set<std::int64_t> all(events.begin(), events.end());
  if (all.size() > 2) return fmt::format("{} to {}", cite(*all.begin()), ref(*all.rbegin()));
  std::string out;
  for (const std::int64_t event : all) out += cite(event);
  return out;
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

std::optional<Taken> taken_on(const Page& page, const std::string& name) {
  const outcome::Group* group = page.conclusion.main_group();
  for (std::size_t at = 0; group != nullptr && at < group->problems.size(); ++at) {
    if (group->problems[at].name != name || at >= group->by_problem.variants.size()) continue;
    if (group->by_problem.variants[at].empty()) return std::nullopt;
    return Taken{group->by_problem.variants[at], group->problems[at].problem};
  }
  return std::nullopt;
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

namespace {

constexpr std::size_t k_named_losses = 3;

// Results
// -----------------------------------------------------------------------------------------

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
  // Exactly 1 is the start beside itself, where another was measured on other problems alone.
  if (std::abs(std::log(total.mean->value)) < 1e-12) return {};
  return fmt::format(
      " Over the start it is {} on average{}{}.", speedup(ratio_of(*total.mean)),
      total.missing.empty() ? std::string() : fmt::format(" of {}", of_problems(total.measured())),
      cite_ends(total.events));
}

/// The cold figure over the rivals where it shows less than half of the hot gain, in logarithms, or
/// no gain at all. Only of the incumbent: other choices have no cold figures of their own.
std::string cold_words(const Page& page) {
  constexpr const char* k_cold = "cold";
  const Facts& facts = page.facts;
  const bool is_measured =
      std::find(facts.plans.begin(), facts.plans.end(), k_cold) != facts.plans.end();
  if (facts.plan != "hot" || !is_measured || !takes_incumbent(page)) return {};
  const outcome::Group* group = page.conclusion.main_group();
  const auto& hot = group->by_problem.over_rival.mean;
  const std::string cell = sdpa_cell(page, k_cold);
  if (!hot || !(hot->value > 1) || cell.starts_with("not ")) return {};
  double cold = 0;
  for (const SuiteEntry& entry : facts.suite) {
    const Compared* found =
        entry.held_out ? nullptr : fastest_rival(facts, page.held, entry.problem, k_cold);
    if (found != nullptr && found->ratio.value > 0.0) cold += std::log(*found->ratio.value);
  }
  const auto shown = static_cast<double>(std::count_if(
      facts.suite.begin(), facts.suite.end(), [](const auto& one) { return !one.held_out; }));
  const bool is_weak = cold < 0.5 * shown * std::log(hot->value) || cell.starts_with("ambiguous") ||
                       cell.starts_with("same") || cell.find("slower") != std::string::npos;
  if (!is_weak) return {};
  constexpr std::string_view k_ambiguous = "ambiguous, ";
  return cell.starts_with(k_ambiguous)
             ? fmt::format(" Cold no gain is shown: {}.", cell.substr(k_ambiguous.size()))
             : " Cold it is less: " + cell + ".";
}

/// Beside the headline figure: that of one variant alone, where several are dispatched; that with
/// the rivals kept where they are faster, where one variant has the headline figure alone.
std::string other_choice_words(const outcome::Outcome& made, const outcome::Group& group) {
  const double shown = group.by_problem.over_rival.mean->value;
  const auto differs = [&](double value) { return std::abs(std::log(value / shown)) > 0.01; };
  const auto& alone = group.single.over_rival.mean;
  std::string out;
  if (made.recommendation.parts.size() > 1 && alone && alone->value > 0 &&
      !group.single.variants.empty() && differs(alone->value)) {
    out += fmt::format(" {} alone on all of them: {}.", code(group.single.variants.front(), 60),
                       speedup(alone->value));
  }
  if (made.recommendation.keep_rival.empty()) return out;
  double sum = 0;
  std::size_t n = 0;
  for (std::size_t at = 0; at < group.problems.size(); ++at) {
    const auto* standing = group.problems[at].find(group.by_problem.variants[at]);
    if (group.problems[at].held_out || standing == nullptr || !standing->over_rival) continue;
    ++n;
    const bool is_kept =
        std::find(made.recommendation.keep_rival.begin(), made.recommendation.keep_rival.end(),
                  at) != made.recommendation.keep_rival.end();
    if (!is_kept) sum += std::log(standing->over_rival->speedup);
  }
  const double kept = n == 0 ? shown : std::exp(sum / static_cast<double>(n));
  if (!differs(kept)) return out;
  return out +
         fmt::format(" With the rivals kept where they are faster, counted as 1.00x, it is {}.",
                     speedup(kept));
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
    out = fmt::format("{} over the fastest rival on average{}, {}.{}",
                      speedup(ratio_of(*rivals.mean)), cite_ends(rivals.events), counts_of(rivals),
                      made.recommendation.develop.empty() ? other_choice_words(made, *group) : "");
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
  return out + cold_words(page) + over_start_words(page, *group);
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
    const std::vector<outcome::Part> parts = group.parts(group.by_problem);
    out += fmt::format("Measured apart, {}{}{}: {} is {}{}{}. ", inline_text(group.plan, 20),
                       group.regime.empty() ? "" : " ", inline_text(group.regime, 20),
                       parts.size() == 1 ? code(parts.front().variant, 60) : "the best choice",
                       counts_of(rivals),
                       rivals.mean ? ", " + speedup(ratio_of(*rivals.mean)) : std::string(),
                       cite_ends(rivals.events));
  }
  return out.empty() ? out : out + "\n\n";
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
  const session::SessionView& view = page.facts.view;
  const auto& undebited = view.undebited;
  const bool is_whole = view.in_flight() != nullptr || undebited.count == 0;
  std::string out =
      page.costs.rows().empty() ? std::string("nothing was debited") : rounded_usd(page);
  const auto& rates = page.facts.prices.rates;
  if (!is_whole && rates.device_usd_per_hour) {
    const double usd = page.costs.known_usd(page.costs.total()) +
                       undebited.timed_s / 3600 * *rates.device_usd_per_hour;
    out = fmt::format("at least ${}{}: ${} is debited, {} of timing is not", fixed(usd, 2),
                      list_mark(page.facts.prices.is_listed(CostItem::device)),
                      fixed(page.costs.known_usd(page.costs.total()), 2),
                      duration(undebited.timed_s));
  } else if (!is_whole) {
    out += fmt::format(", without {} of timing that no debit holds", duration(undebited.timed_s));
  }
  const auto wall_s = seconds_between(view.opened.t, view.last_t);
  if (!wall_s) return out + ".";
  out += fmt::format("; {} from opening to the last event{} to {}", duration(*wall_s),
                     cite(view.opened.seq), ref(view.events));
  const auto device = view.ledger.items.find(CostItem::device);
  if (device == view.ledger.items.end()) return out + ".";
  return out +
         fmt::format(", the device at work for {}{} of it", is_whole ? "" : "at least ",
                     duration(device->second.quantity + (is_whole ? 0 : undebited.timed_s))) +
         ".";
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
    const bool is_whole = view.in_flight() != nullptr || view.undebited.count == 0;
    table.row({is_whole ? "all" : "all that was debited", "", page.costs.usd(total)});
    out += table.str() + "\n";
    if (!total.cells[static_cast<std::size_t>(CostItem::tokens)].used) {
      out += "What writing the kernels took is not in the log.";
    }
  }
  if (view.in_flight() == nullptr && view.undebited.count > 0) {
    out += fmt::format(
        " Not debited: {}, in which calls were timed for {}{}.",
        count(view.undebited.count, "turn"), duration(view.undebited.timed_s),
        fmt::format("{} to {}", cite(view.undebited.first_seq), ref(view.undebited.last_seq)));
  }
  return out + "\n\n";
}

}  // namespace wb::report::two_pages
