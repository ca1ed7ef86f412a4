// SPDX-License-Identifier: MIT
// Next steps, ordered by expected gain, each with the events that suggest it. They come only from
// the log.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "report/report.hpp"
#include "report/session_sections.hpp"

namespace wb::report {

using session::Fact;
using session::IterationView;

namespace {

constexpr std::size_t k_max_named_steps = 5;
/// A smaller distance to the roofline is not suggested.
constexpr double k_least_room = 1.5;
/// A noise floor above this hides worthwhile gains.
constexpr double k_wide_floor_frac = 0.05;

using Advice = std::vector<std::string>;

std::string title_of(const Page& page, const std::string& problem) {
  return problem.empty() ? "the suite" : inline_text(page.facts.title(problem), 60);
}

void add_unfinished(const Page& page, Advice& steps) {
  const session::SessionView& view = page.facts.view;
  if (const IterationView* flight = view.in_flight()) {
    steps.push_back(
        "Go on with `sdpa-wb resume`: an iteration is in flight, or was when the session "
        "died" +
        cite(flight->opened.seq) + ".");
  } else if (view.status != session::SessionStatus::closed) {
    steps.emplace_back("Go on with `sdpa-wb resume`, or end with `sdpa-wb close`.");
  }
}

/// Problems that the incumbent made slower: the former incumbent should be kept for them.
void add_regressions(const Page& page, Advice& steps) {
  if (page.facts.wins.empty()) return;
  std::size_t named = 0;
  for (const SuiteEntry& entry : page.facts.suite) {
    const Compared* slower = page.held.find("", entry.problem, page.facts.plan);
    if (slower == nullptr || slower->outcome != "slower" || ++named > k_max_named_steps) continue;
    steps.push_back(
        fmt::format("Dispatch {} to {}, or find why the incumbent is slower there: {}{}.",
                    title_of(page, entry.problem), code(slower->against, 60),
                    speedup(slower->ratio), cite(slower->seq)));
  }
}

/// Problems lost to the rival, with their distance to the roofline.
void add_lost(const Page& page, Advice& steps) {
  if (page.sdpa.measured() == 0) {
    if (page.facts.baseline != nullptr) {
      steps.emplace_back(
          "Measure a rival that passes its verdict: without one nothing says how the incumbent "
          "stands against PyTorch's SDPA.");
    }
    return;
  }
  const std::vector<Headroom> rooms = headroom(page);
  for (std::size_t i = 0; i < std::min(page.sdpa.lost.size(), k_max_named_steps); ++i) {
    const Compared& lost = *page.sdpa.lost[i];
    std::string step = fmt::format("Close the gap on {}: {} against {}{}",
                                   title_of(page, lost.problem), speedup(lost.ratio),
                                   code(std::string(base_name(lost.against)), 60), cite(lost.seq));
    const auto room = std::find_if(rooms.begin(), rooms.end(), [&](const Headroom& candidate) {
      return page.facts.title(candidate.problem) == page.facts.title(lost.problem);
    });
    if (room != rooms.end()) {
      step += fmt::format("; its bound leaves at most {}x{}",
                          fixed(room->factor, room->factor < 10 ? 1 : 0), cite(room->finding->seq));
    }
    steps.push_back(step + ".");
  }
}

void add_headroom(const Page& page, Advice& steps) {
  std::set<std::string> lost;
  for (const Compared* compared : page.sdpa.lost) {
    lost.insert(page.facts.title(compared->problem));
  }
  std::size_t named = 0;
  for (const Headroom& room : headroom(page)) {
    if (room.factor < k_least_room) break;
    if (lost.contains(page.facts.title(room.problem))) continue;  // already named with its distance
    if (++named > 2) break;
    steps.push_back(fmt::format("Look at {}: it runs at {} of its bound, so at most {}x is left{}.",
                                title_of(page, room.problem), percent(1 / room.factor),
                                fixed(room.factor, room.factor < 10 ? 1 : 0),
                                cite(room.finding->seq)));
  }
}

/// Undecided comparisons with the rival.
void add_ambiguous(const Page& page, Advice& steps) {
  std::size_t named = 0;
  for (const Compared* compared : page.sdpa.ambiguous) {
    if (++named > k_max_named_steps) break;
    const bool has_figure = compared->ratio.value.has_value();
    steps.push_back(fmt::format(
        "Measure {} against {} again with more processes or rounds: {}{}.",
        title_of(page, compared->problem), code(std::string(base_name(compared->against)), 60),
        has_figure ? "ambiguous, " + speedup(compared->ratio)
                   : "no figure (" + brief(page.facts.words(compared->reason), 120) + ")",
        cite(compared->seq)));
  }
}

/// Missing figures of the plans that do not decide, one step per plan.
void add_unmeasured(const Page& page, Advice& steps) {
  for (const std::string& plan : page.facts.plans) {
    if (plan == page.facts.plan) continue;
    std::vector<std::int64_t> events;
    for (const Compared& compared : page.held.all()) {
      if (compared.plan == plan && !compared.ratio.value) events.push_back(compared.seq);
    }
    if (events.empty()) continue;
    steps.push_back(
        fmt::format("Measure {} again when the machine is quiet: {} without a figure{}.",
                    inline_text(page.facts.plan_label(plan), 40),
                    count(static_cast<std::int64_t>(events.size()), "comparison"), cite(events)));
  }
}

void add_floor(const Page& page, Advice& steps) {
  const Fact* widest = nullptr;
  double floor_frac = k_wide_floor_frac;
  const Fact* unfit = nullptr;
  for (const Fact* fact : floors_in_use(page.facts)) {
    const auto value = number(fact->payload, "floor_frac");
    if (text(fact->payload, "plan") != page.facts.plan) continue;
    if (!text(fact->payload, "unfit").empty()) unfit = fact;
    if (!value || !(*value > floor_frac)) continue;
    widest = fact;
    floor_frac = *value;
  }
  if (unfit != nullptr) {
    steps.push_back(fmt::format(
        "Take the noise floor of {} again when the machine is calm (`sdpa-wb remeasure floor`): "
        "{}{}.",
        title_of(page, text(unfit->payload, "problem")),
        inline_text(text(unfit->payload, "unfit"), 120), cite(unfit->seq)));
  }
  if (widest == nullptr || widest == unfit) return;
  steps.push_back(fmt::format(
      "Find what disturbs {}: its noise floor is {}{}, so smaller gains there stay unseen.",
      title_of(page, text(widest->payload, "problem")), percent(floor_frac), cite(widest->seq)));
}

/// Iterations by the work that they leave: explain, measure again, fix, repeat.
void add_iterations(const Page& page, Advice& steps) {
  std::size_t smaller = 0, undecided = 0, invalid = 0;
  for (const IterationView* iteration : page.facts.tries) {
    const IterationOutcome outcome = outcome_of(*iteration);
    const std::string state =
        iteration->hypothesis ? text(iteration->hypothesis->payload, "state") : "";
    const std::string variant = code(candidate_label(*iteration), 60);
    if (outcome == IterationOutcome::win && state == "refuted" && ++smaller <= k_max_named_steps) {
      const ComparisonIndex index(*iteration);
      const Compared* figure = objective_figure(page.facts, index, page.facts.plan);
      const Json& hypothesis = field(iteration->opened.payload, "hypothesis");
      steps.push_back(
          fmt::format("Find what holds {} back: iteration {} predicted {}{} and measured {}.",
                      variant, iteration->number, speedup(number(hypothesis, "predicted_speedup")),
                      cite(iteration->opened.seq),
                      figure == nullptr ? std::string("less") : comparison_cell(*figure)));
    }
    if (outcome == IterationOutcome::no_gain && state == "undecided" &&
        ++undecided <= k_max_named_steps) {
      steps.push_back(fmt::format(
          "Measure {} again with more processes or rounds: iteration {} stayed undecided{}.",
          variant, iteration->number, cite(iteration->hypothesis->seq)));
    }
    if (outcome != IterationOutcome::invalid || ++invalid > k_max_named_steps) continue;
    const std::string word = invalidity_of(*iteration);
    steps.push_back(
        word == "environment"
            ? fmt::format("Repeat iteration {}{}: the machine failed, not the variant.",
                          iteration->number, cite(iteration->opened.seq))
            : fmt::format("Mend {} (iteration {}, {}{}) or drop it: its hypothesis was never "
                          "measured.",
                          variant, iteration->number, inline_text(word, 40),
                          iteration->closed ? cite(iteration->closed->seq) : ""));
  }
}

/// Ideas without a measured effect, on one line, so that nobody tries them again.
void add_refuted(const Page& page, Advice& steps) {
  std::string list;
  std::size_t n = 0;
  for (const IterationView* iteration : page.facts.tries) {
    const bool is_refuted =
        iteration->hypothesis && text(iteration->hypothesis->payload, "state") == "refuted";
    if (!is_refuted || outcome_of(*iteration) == IterationOutcome::win) continue;
    if (++n > k_max_named_steps) continue;
    list += fmt::format("{} {}{}", n == 1 ? "" : ",", code(candidate_label(*iteration), 60),
                        cite(iteration->hypothesis->seq));
  }
  if (n == 0) return;
  if (n > k_max_named_steps) list += fmt::format(" and {} more", n - k_max_named_steps);
  steps.push_back("Do not try again here without new evidence:" + list + ": refuted.");
}

enum class Results { told, left_out };

Advice steps_of(const Page& page, Results results) {
  const bool are_told = results == Results::told;
  Advice steps;
  add_unfinished(page, steps);
  if (are_told) add_lost(page, steps);
  if (are_told) add_regressions(page, steps);
  add_headroom(page, steps);
  if (are_told) add_ambiguous(page, steps);
  add_iterations(page, steps);
  add_unmeasured(page, steps);
  add_floor(page, steps);
  add_refuted(page, steps);
  return steps;
}

}  // namespace

std::string next_steps_section(const Page& page) {
  const Advice steps = steps_of(page, Results::told);
  std::string out = "## Next steps\n\n";
  if (steps.empty()) return out + "The facts of this session suggest none.\n\n";
  for (std::size_t i = 0; i < steps.size(); ++i) out += fmt::format("{}. {}\n", i + 1, steps[i]);
  return out + "\n";
}

}  // namespace wb::report

namespace wb::report {

std::vector<std::string> next_steps(const session::SessionView& view) {
  return steps_of(Page(view), Results::told);
}

std::vector<std::string> other_steps(const session::SessionView& view) {
  return steps_of(Page(view), Results::left_out);
}

}  // namespace wb::report
