// SPDX-License-Identifier: MIT
// Next steps, ordered by expected gain, each with the events that suggest it. They come only from
// the log.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "measure/prediction.hpp"
#include "report/causes.hpp"
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

/// True for a variant that the recommendation takes.
bool is_taken(const Page& page, const std::string& variant) {
  const std::vector<outcome::Part>& parts = page.conclusion.recommendation.parts;
  return std::any_of(parts.begin(), parts.end(),
                     [&](const outcome::Part& part) { return part.variant == variant; });
}

/// What follows from who won, and the want of a rival.
void add_outcome(const Page& page, Advice& steps) {
  const outcome::Choice* choice = page.conclusion.chosen();
  if (page.conclusion.recommendation.advice != outcome::Advice::none) {
    for (const std::string& step : outcome::next_steps(page.conclusion)) {
      steps.push_back(told(step));
    }
  }
  const bool has_rivals = choice != nullptr && choice->over_rival.measured() > 0;
  if (page.facts.baseline != nullptr && !has_rivals) {
    steps.emplace_back(
        "Measure a rival that passes its verdict: without one nothing says how the incumbent "
        "stands against PyTorch's SDPA.");
  }
}

void add_headroom(const Page& page, Advice& steps) {
  std::size_t named = 0;
  for (const Room& room : rooms_now(page)) {
    if (room.factor < k_least_room) break;
    if (++named > 2) break;
    steps.push_back(fmt::format("Look at {}: it takes {} its bound, {}, so at most {}x is left{}.",
                                room.problem.empty() ? "the suite" : inline_text(room.problem, 60),
                                fixed(room.factor, 1) + " times", inline_text(room.bound, 60),
                                fixed(room.factor, room.factor < 10 ? 1 : 0), cite(room.events)));
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
    const auto prediction = session::decided_prediction(*iteration);
    const std::string variant = code(candidate_label(*iteration), 60);
    if (outcome == IterationOutcome::win && prediction &&
        prediction->size == measure::GainSize::below &&
        is_taken(page, candidate_label(*iteration)) && ++smaller <= k_max_named_steps) {
      const ComparisonIndex index(*iteration);
      const Compared* figure = objective_figure(page.facts, index, page.facts.plan);
      const Json& hypothesis = field(iteration->opened.payload, "hypothesis");
      steps.push_back(
          fmt::format("Find what holds {} back: iteration {} predicted {}{} and measured {}.",
                      variant, iteration->number, speedup(number(hypothesis, "predicted_speedup")),
                      cite(iteration->opened.seq),
                      figure == nullptr ? std::string("less") : comparison_cell(*figure)));
    }
    if (outcome == IterationOutcome::no_gain && prediction &&
        prediction->mechanism == measure::Mechanism::undecided &&
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
    const auto prediction = session::decided_prediction(*iteration);
    const bool is_contradicted =
        prediction && prediction->mechanism == measure::Mechanism::not_confirmed;
    if (!is_contradicted || outcome_of(*iteration) == IterationOutcome::win) continue;
    if (is_taken(page, candidate_label(*iteration))) continue;
    if (++n > k_max_named_steps) continue;
    list += fmt::format("{} {}{}", n == 1 ? "" : ",", code(candidate_label(*iteration), 60),
                        cite(iteration->hypothesis->seq));
  }
  if (n == 0) return;
  if (n > k_max_named_steps) list += fmt::format(" and {} more", n - k_max_named_steps);
  steps.push_back("Do not try again here without new evidence:" + list + ": it gained nothing.");
}

enum class Results { told, left_out };

Advice steps_of(const Page& page, Results results) {
  const bool are_told = results == Results::told;
  Advice steps;
  add_unfinished(page, steps);
  if (are_told) add_outcome(page, steps);
  add_headroom(page, steps);
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

std::vector<std::string> other_steps(const session::SessionView& view) {
  return steps_of(Page(view), Results::left_out);
}

}  // namespace wb::report
