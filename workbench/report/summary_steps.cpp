// SPDX-License-Identifier: MIT
// Of the report of two pages: what was tried, and what is next.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "report/causes.hpp"
#include "report/summary.hpp"

namespace wb::report::two_pages {

using session::IterationView;

namespace {

std::string came_of(const Page& page, const IterationView& iteration) {
  const IterationOutcome outcome = outcome_of(iteration);
  if (outcome == IterationOutcome::win) return "won";
  if (outcome == IterationOutcome::open) return "in flight";
  if (outcome == IterationOutcome::invalid) {
    const std::string why = invalidity_of(iteration);
    return "failed" + (why.empty() ? "" : ": " + inline_text(why, 40));
  }
  if (outcome == IterationOutcome::abandoned) return "abandoned, not decided";
  if (outcome != IterationOutcome::no_gain) return std::string(to_string(outcome));
  return no_gain_words(page, iteration);
}

/// How far a figure lies from 1; a win counts more than any other.
double weight_of(const Page& page, const IterationView& iteration, const Compared* figure) {
  const bool is_kept = outcome_of(iteration) == IterationOutcome::win ||
                       is_recommended(page, candidate_label(iteration));
  const double size =
      figure == nullptr || !figure->ratio.value.has_value() || !(*figure->ratio.value > 0)
          ? 0
          : std::abs(std::log(*figure->ratio.value));
  return size + (is_kept ? 1e3 : 0);
}

std::string tally_words(const Page& page) {
  std::size_t wins = 0, no_gain = 0, failed = 0, abandoned = 0, open = 0;
  for (const IterationView* iteration : page.facts.tries) {
    switch (outcome_of(*iteration)) {
      case IterationOutcome::win:
        ++wins;
        break;
      case IterationOutcome::no_gain:
        ++no_gain;
        break;
      case IterationOutcome::invalid:
        ++failed;
        break;
      case IterationOutcome::abandoned:
        ++abandoned;
        break;
      default:
        ++open;
    }
  }
  std::string out = count(static_cast<std::int64_t>(page.conclusion.iterations), "iteration") +
                    " closed after the baseline";
  std::string parts;
  const auto add = [&](std::size_t n, const char* word) {
    if (n > 0) parts += fmt::format("{} {} {}", parts.empty() ? ":" : ",", n, word);
  };
  add(wins, "won");
  add(no_gain, "gained nothing");
  add(failed, "failed");
  add(abandoned, "abandoned");
  out += parts + ".";
  return open > 0 ? out + " One is in flight." : out;
}

}  // namespace

std::string tried_section(const Page& page, const Size& size) {
  const Facts& facts = page.facts;
  std::string out = "## What was tried\n\n";
  if (facts.tries.empty()) {
    const std::size_t compared = facts.view.outside.comparisons.size();
    return out + (facts.baseline == nullptr ? "Nothing yet.\n\n"
                  : compared == 0           ? "No iteration was run.\n\n"
                                  : "No iteration was run: kernels were only compared.\n\n");
  }
  struct Try {
    const IterationView* iteration;
    ComparisonIndex index;
    const Compared* figure;
    double weight;
  };
  std::vector<Try> tries;
  tries.reserve(facts.tries.size());  // `figure` points into `index`
  for (const IterationView* iteration : facts.tries) {
    tries.push_back({iteration, ComparisonIndex(*iteration), nullptr, 0});
    Try& made = tries.back();
    made.figure = objective_figure(facts, made.index, facts.plan);
    made.weight = weight_of(page, *iteration, made.figure);
  }
  std::vector<const Try*> shown;
  for (const Try& one : tries) shown.push_back(&one);
  if (shown.size() > size.rows) {
    std::stable_sort(shown.begin(), shown.end(),
                     [](const Try* a, const Try* b) { return a->weight > b->weight; });
    shown.resize(size.rows);
    std::sort(shown.begin(), shown.end());  // in the order of the log
  }
  Table table({"#>", "idea", "predicted>", "measured>", "what came of it"});
  for (const Try* one : shown) {
    const IterationView& iteration = *one->iteration;
    const auto predicted =
        number(field(iteration.opened.payload, "hypothesis"), "predicted_speedup");
    std::string measured = "-";
    if (one->figure != nullptr && one->figure->ratio.value) {
      measured = speedup(one->figure->ratio.value) + cite(one->figure->seq);
    }
    table.row({fmt::format("{}", iteration.number), idea_of(facts, iteration, size.idea_bytes),
               predicted ? speedup(predicted) + cite(iteration.opened.seq) : "-", measured,
               came_of(page, iteration)});
  }
  out += tally_words(page) + "\n\n" + table.str() + "\n";
  const std::size_t left = tries.size() - shown.size();
  if (left == 0) return out;
  return out +
         (left == 1 ? std::string("One smaller one is")
                    : fmt::format("{} smaller ones are", left)) +
         " in the whole report.\n\n";
}

namespace {

constexpr const char* k_only_measures = "none: it only measures";
constexpr std::size_t k_step_bytes = 110;
/// Smaller expected gains of a roadmap are not worth a row.
constexpr double k_least_gain = 1.02;
/// A smaller distance to the bound is not worth a row.
constexpr double k_least_room = 1.3;

/// What an iteration took here.
std::string iteration_effort(const Page& page) {
  double device_s = 0;
  std::size_t n = 0;
  for (const IterationView* iteration : page.facts.tries) {
    const auto found = iteration->ledger.items.find(session::CostItem::device);
    if (found == iteration->ledger.items.end()) continue;
    device_s += found->second.quantity;
    ++n;
  }
  if (n == 0) return "not estimated";
  return fmt::format("writing it, then {} of the device a try",
                     duration(device_s / static_cast<double>(n)));
}

void add_open_work(const Page& page, std::vector<Step>& steps) {
  const session::SessionView& view = page.facts.view;
  if (view.status == session::SessionStatus::closed) return;
  const IterationView* flight = view.in_flight();
  steps.push_back(
      {flight == nullptr
           ? std::string("Go on with `sdpa-wb resume`, or end with `sdpa-wb close`")
           : fmt::format("Finish {} with `sdpa-wb resume`{}",
                         flight->number == 0 ? std::string("the baseline")
                                             : fmt::format("iteration {}", flight->number),
                         cite(flight->opened.seq)),
       "not known yet", "the rest of the session", "none"});
}

void add_confirmation(const Page& page, std::vector<Step>& steps) {
  const outcome::Recommendation& made = page.conclusion.recommendation;
  const outcome::Group* group = page.conclusion.main_group();
  if (!made.confirmation || group == nullptr) return;
  const auto &many = group->by_problem.over_rival.mean, &one = group->single.over_rival.mean;
  const auto &many_start = group->by_problem.over_start.mean,
             &one_start = group->single.over_start.mean;
  std::string gain = "the choice by problem";
  if (many && one) {
    gain =
        fmt::format("{} instead of {} over the rivals", speedup(many->value), speedup(one->value));
  } else if (many_start && one_start) {
    gain = fmt::format("{} instead of {} over the start", speedup(many_start->value),
                       speedup(one_start->value));
  }
  steps.push_back({fmt::format("Confirm the dispatch in one run on {}: {}",
                               problem_names(*group, made.confirmation->problems, 3),
                               code("sdpa-wb compare " + made.confirmation->candidate + " " +
                                        made.confirmation->against,
                                    200)),
                   gain, "one comparison", k_only_measures});
}

/// Whether the causes of what is recommended were decided, and one is supported.
bool is_cause_known(const Page& page) {
  const auto& causes = page.facts.view.causes;
  return causes && !causes_of(causes->payload, "supported").empty() &&
         is_recommended(page, text(causes->payload, "subject"));
}

/// The roadmap's first step that promises a gain; nullptr where it has none for what is
/// recommended.
const Json* first_of_roadmap(const Page& page) {
  const auto& roadmap = page.facts.view.roadmap;
  if (!roadmap || !is_recommended(page, text(roadmap->payload, "incumbent"))) return nullptr;
  for (const Json& entry : list_of(roadmap->payload, "entries")) {
    if (number(entry, "expected").value_or(0) >= k_least_gain) return &entry;
  }
  return nullptr;
}

/// What would help there: the roadmap's idea, else the cause that the page names, else what to find
/// out.
std::string cure_words(const Page& page) {
  if (const Json* entry = first_of_roadmap(page)) {
    return fmt::format("try {} ({})", inline_text(text(*entry, "title"), 60),
                       code(text(*entry, "technique"), 40));
  }
  return is_cause_known(page) ? "begin with its cause (above)" : "find out first what limits it";
}

/// By which factor a missed goal was missed; 0 where the log does not say. One without a figure of
/// its own wanted no rival to be faster.
double missed_by(const GoalRow& row) {
  if (row.asked && row.reached && *row.reached > 0) return *row.asked / *row.reached;
  if (!row.asked && row.lowest_speedup && *row.lowest_speedup > 0) return 1 / *row.lowest_speedup;
  return 0;
}

/// The goal that was missed by most, and the others by number.
void add_missed_goals(const Page& page, const std::vector<GoalRow>& goals,
                      std::vector<Step>& steps) {
  const GoalRow* worst = nullptr;
  std::size_t n = 0;
  for (const GoalRow& row : goals) {
    if (row.state != session::GoalState::missed) continue;
    ++n;
    if (worst == nullptr || missed_by(row) > missed_by(*worst)) worst = &row;
  }
  if (worst == nullptr) return;
  std::string what = "Reach the goal " + worst->goal;
  // A playbook may call the problem otherwise than the page does.
  const outcome::Group* group = page.conclusion.main_group();
  const bool is_named = group != nullptr && !worst->lowest.empty() &&
                        std::any_of(group->problems.begin(), group->problems.end(),
                                    [&](const outcome::ProblemOutcome& problem) {
                                      return problem.name == worst->lowest;
                                    });
  if (is_named) what += ", weakest on " + inline_text(worst->lowest, 60);
  if (worst->lowest_speedup) what += fmt::format(", {} at worst", speedup(worst->lowest_speedup));
  what += ": " + cure_words(page);
  if (n > 1) what += fmt::format(". Then {} more missed", n - 1);
  const double factor = missed_by(*worst);
  const std::string amount =
      factor > 1 ? fmt::format("{}x {}", fixed(factor, factor < 1.1 ? 3 : 2),
                               worst->asked ? "short of the goal" : "behind the rival there")
                 : std::string("not known");
  steps.push_back({what, amount + cite_ends(worst->events), iteration_effort(page),
                   is_cause_known(page) ? "medium: its cause may be another one"
                                        : "high: its cause is not decided"});
}

void add_gap(const Page& page, std::vector<Step>& steps) {
  const std::vector<outcome::Loss> lost = outcome::losses_of(page.conclusion).to_rivals;
  if (lost.empty() || !(lost.front().figure.speedup > 0)) return;
  const outcome::Loss& worst = lost.front();
  std::string what = "Close the gap to " + code(base_name(worst.against), 40) + " on " +
                     inline_text(worst.problem, 60);
  if (lost.size() > 1) {
    what += fmt::format(", then on {} more", lost.size() - 1);
  }
  steps.push_back({what,
                   fmt::format("up to {} there{}", speedup(1 / worst.figure.speedup),
                               cite_ends(worst.figure.events)),
                   iteration_effort(page),
                   is_cause_known(page) ? "medium: its cause may be another one"
                                        : "high: its cause is not decided"});
}

/// The roadmap's steps that promise a gain.
void add_roadmap(const Page& page, std::vector<Step>& steps) {
  const auto& roadmap = page.facts.view.roadmap;
  if (!roadmap || !is_recommended(page, text(roadmap->payload, "incumbent"))) return;
  std::size_t n = 0;
  for (const Json& entry : list_of(roadmap->payload, "entries")) {
    const auto expected = number(entry, "expected"), low = number(entry, "low"),
               high = number(entry, "high"), hours_low = number(entry, "hours_low"),
               hours_high = number(entry, "hours_high");
    if (!expected || *expected < k_least_gain || ++n > 2) continue;
    steps.push_back({fmt::format("Try {} ({})", inline_text(text(entry, "title"), 60),
                                 code(text(entry, "technique"), 40)),
                     low && high ? fmt::format("{} ({} to {}){}", speedup(expected), speedup(low),
                                               speedup(high), cite(roadmap->seq))
                                 : speedup(expected) + cite(roadmap->seq),
                     hours_low && hours_high
                         ? fmt::format("{:g} to {:g} h", *hours_low, *hours_high)
                         : iteration_effort(page),
                     inline_text(text(entry, "risk"), 20)});
  }
}

void add_undecided(const Page& page, std::vector<Step>& steps) {
  const outcome::Group* group = page.conclusion.main_group();
  if (group == nullptr || group->by_problem.over_rival.undecided.empty()) return;
  const std::vector<std::size_t>& open = group->by_problem.over_rival.undecided;
  const std::size_t at = open.front();
  const outcome::Standing* standing = group->problems[at].find(group->by_problem.variants[at]);
  std::string event;
  if (standing != nullptr && standing->over_rival) event = cite_ends(standing->over_rival->events);
  steps.push_back(
      {fmt::format("Measure {} again with more processes", problem_names(*group, open, 3)),
       "who is faster there" + event, "one comparison", k_only_measures});
}

bool was_repeated(const Page& page, const IterationView& earlier) {
  const std::string theory = text(field(earlier.opened.payload, "hypothesis"), "theory");
  return std::any_of(page.facts.tries.begin(), page.facts.tries.end(), [&](const auto* other) {
    if (other->number <= earlier.number) return false;
    return candidate_label(*other) == candidate_label(earlier) ||
           text(field(other->opened.payload, "hypothesis"), "theory") == theory;
  });
}

/// Ideas that no figure decided.
void add_unmeasured_ideas(const Page& page, std::vector<Step>& steps) {
  std::size_t n = 0;
  for (const IterationView* iteration : page.facts.tries) {
    const IterationOutcome outcome = outcome_of(*iteration);
    const bool is_failed = outcome == IterationOutcome::invalid;
    if (!is_failed && outcome != IterationOutcome::abandoned) continue;
    if (was_repeated(page, *iteration) || ++n > 2) continue;
    const auto predicted =
        number(field(iteration->opened.payload, "hypothesis"), "predicted_speedup");
    const std::string why = invalidity_of(*iteration);
    const bool is_machine = why == "environment";
    steps.push_back(
        {fmt::format("{} iteration {}: {}", is_failed && !is_machine ? "Mend" : "Repeat",
                     iteration->number, idea_of(page.facts, *iteration, k_step_bytes)),
         (predicted ? speedup(predicted) + " was predicted" : std::string("not known")) +
             cite(iteration->opened.seq),
         is_failed && !is_machine ? "mending the " + inline_text(why.empty() ? "fault" : why, 30)
                                  : std::string("one iteration"),
         "low: the incumbent stays as it is"});
  }
}

/// Of the problems with room the one that is lost to a rival by most, else the one with most room.
const Room& room_to_explain(const Page& page, const std::vector<Room>& rooms) {
  for (const outcome::Loss& lost : outcome::losses_of(page.conclusion).to_rivals) {
    const auto found = std::find_if(rooms.begin(), rooms.end(), [&](const Room& room) {
      return room.factor >= k_least_room && room.problem == lost.problem;
    });
    if (found != rooms.end()) return *found;
  }
  return rooms.front();
}

void add_room(const Page& page, std::vector<Step>& steps) {
  const auto rooms = rooms_now(page);
  if (rooms.empty() || rooms.front().factor < k_least_room) return;
  const Room& most = room_to_explain(page, rooms);
  // Room of the start says nothing of a variant that was only compared.
  if (!is_recommended(page, page.facts.view.incumbent)) return;
  steps.push_back(
      {fmt::format("Find why {} takes {} times its bound, {}: `sdpa-wb diagnose --measure`",
                   most.problem.empty() ? "the suite" : inline_text(most.problem, 60),
                   fixed(most.factor, 1), inline_text(most.bound, 60)),
       fmt::format("at most {}x there{}", fixed(most.factor, most.factor < 10 ? 1 : 0),
                   cite(most.events)),
       "a few measurements", k_only_measures});
}

void add_rival(const Page& page, std::vector<Step>& steps) {
  const outcome::Choice* choice = page.conclusion.chosen();
  const bool has_rival = choice != nullptr && choice->over_rival.measured() > 0;
  if (page.facts.baseline == nullptr || has_rival) return;
  steps.push_back({"Measure a rival that passes its verdict, such as PyTorch's SDPA",
                   "where this stands beside it", "one comparison", k_only_measures});
}

}  // namespace

std::vector<Step> steps_ahead(const Page& page) {
  std::vector<Step> steps;
  add_open_work(page, steps);
  add_confirmation(page, steps);
  add_rival(page, steps);
  add_missed_goals(page, goals_shown(page), steps);
  add_gap(page, steps);
  add_roadmap(page, steps);
  add_undecided(page, steps);
  add_unmeasured_ideas(page, steps);
  add_room(page, steps);
  return steps;
}

}  // namespace wb::report::two_pages
