// SPDX-License-Identifier: MIT
// Of the report of two pages: what was tried, and what is next.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "core/json.hpp"
#include "report/causes.hpp"
#include "report/summary.hpp"

namespace wb::report::two_pages {

using session::IterationView;

namespace {

/// "cut off: stopped by a signal", in the log's words.
std::string abandoned_words(const IterationView& iteration) {
  const std::string why = iteration.closed ? text(iteration.closed->payload, "message") : "";
  return why.empty() ? "abandoned, not decided" : "not decided: " + inline_text(why, 60);
}

std::string came_of(const Page& page, const IterationView& iteration) {
  const IterationOutcome outcome = outcome_of(iteration);
  if (outcome == IterationOutcome::win) return "won";
  if (outcome == IterationOutcome::open) return "in flight";
  if (outcome == IterationOutcome::invalid) {
    const std::string why = invalidity_of(iteration);
    return "failed" + (why.empty() ? "" : ": " + inline_text(why, 40));
  }
  if (outcome == IterationOutcome::abandoned) return abandoned_words(iteration);
  if (outcome != IterationOutcome::no_gain) return std::string(to_string(outcome));
  return no_gain_words(page, iteration);
}

/// How far a figure lies from 1; a win counts more than any other.
double weight_of(const Page& page, const IterationView& iteration, const Compared* figure) {
  const IterationOutcome outcome = outcome_of(iteration);
  const bool is_kept =
      outcome == IterationOutcome::win ||
      (outcome == IterationOutcome::no_gain && is_recommended(page, candidate_label(iteration)));
  const double size =
      figure == nullptr || !figure->ratio.value.has_value() || !(*figure->ratio.value > 0)
          ? 0
          : std::abs(std::log(*figure->ratio.value));
  return size + (is_kept ? 1e3 : 0);
}

std::string tally_words(const Page& page) {
  std::size_t wins = 0, failed = 0, abandoned = 0, open = 0;
  std::map<std::string, std::size_t> no_gain;  // by what came of them
  for (const IterationView* iteration : page.facts.tries) {
    switch (outcome_of(*iteration)) {
      case IterationOutcome::win:
        ++wins;
        break;
      case IterationOutcome::no_gain:
        ++no_gain[no_gain_words(page, *iteration)];
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
  const auto add = [&](std::size_t n, std::string_view words) {
    if (n > 0) parts += fmt::format("{} {} {}", parts.empty() ? ":" : ",", n, words);
  };
  add(wins, "won (faster than the best before)");
  for (const auto& [words, n] : no_gain) add(n, words);
  add(failed, "failed");
  add(abandoned, "not decided");
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
  const bool has_held_out = std::any_of(facts.suite.begin(), facts.suite.end(),
                                        [](const SuiteEntry& one) { return one.held_out; });
  out += tally_words(page) + (has_held_out ? " Measured includes held-out problems.\n\n" : "\n\n") +
         table.str() + "\n";
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
constexpr double k_small_gain = 1.05;
constexpr double k_level_frac = 0.01;
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
  const auto told_gain = [](const auto& many_mean, const auto& one_mean, const char* over) {
    return fmt::format("is it {} over the {}? {} by one variant", speedup(many_mean->value), over,
                       speedup(one_mean->value));
  };
  const std::string gain = many && one               ? told_gain(many, one, "rivals")
                           : many_start && one_start ? told_gain(many_start, one_start, "start")
                                                     : "the choice by problem";
  steps.push_back({fmt::format("Confirm the dispatch in one run on {}: {}",
                               problem_names(*group, made.confirmation->problems, 3),
                               code("sdpa-wb compare " + made.confirmation->candidate + " " +
                                        made.confirmation->against,
                                    200)),
                   gain, "one comparison", k_only_measures});
}

/// Whether the causes of what is recommended were decided, and one is supported; on that problem,
/// where one is named.
bool is_cause_known(const Page& page, const std::string& problem = {}) {
  const auto& causes = page.facts.view.causes;
  if (!causes || !is_recommended(page, text(causes->payload, "subject"))) return false;
  const auto supported = causes_of(causes->payload, "supported");
  return std::any_of(supported.begin(), supported.end(), [&](const Json* cause) {
    const std::vector<std::string> where = strings(*cause, "where");
    return problem.empty() || where.empty() ||
           std::any_of(where.begin(), where.end(), [&](const std::string& name) {
             return page.facts.title(name) == problem || page.facts.words(name) == problem;
           });
  });
}

std::string cause_risk(bool is_known) {
  return is_known ? "medium: its cause may be another one" : "high: its cause is not known";
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

/// "1.88x (1.10x to 3.20x)" over the suite, of a roadmap's entry.
std::string entry_gain(const Json& entry) {
  const auto low = number(entry, "low"), high = number(entry, "high");
  const std::string expected = speedup(number(entry, "expected"));
  return low && high ? fmt::format("{} ({} to {})", expected, speedup(low), speedup(high))
                     : expected;
}

/// What would help there: the roadmap's idea, else the cause that the page names, else what to find
/// out.
std::string cure_words(const Page& page, const std::string& problem = {}) {
  if (const Json* entry = first_of_roadmap(page)) {
    return fmt::format("try {} ({})", inline_text(text(*entry, "title"), 60),
                       code(text(*entry, "technique"), 40));
  }
  return is_cause_known(page, problem) ? "begin with its cause (above)"
                                       : "find out first what limits it";
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
  std::string where;
  if (is_named) where = "weakest on " + inline_text(worst->lowest, 60);
  if (worst->lowest_speedup) {
    where += (where.empty() ? "its weakest problem is at " : ", ") + speedup(worst->lowest_speedup);
  }
  if (!where.empty()) what += " (" + where + ")";
  what += ": " + cure_words(page);
  if (n > 1) what += fmt::format(". Then {} more missed", n - 1);
  const double factor = missed_by(*worst);
  const std::string amount =
      factor > 1 ? fmt::format("{} % {}", fixed(100 * (factor - 1), factor < 1.1 ? 1 : 0),
                               worst->asked ? "more reaches the goal" : "more reaches the rival")
                 : std::string("not known");
  steps.push_back({what, amount + cite_ends(worst->events), iteration_effort(page),
                   cause_risk(is_cause_known(page))});
}

/// The command that looks at what is taken on a problem. A closed session takes no measurement.
std::string looking_command(const Page& page, const std::string& problem) {
  const session::SessionView& view = page.facts.view;
  if (view.status != session::SessionStatus::closed) return "`sdpa-wb diagnose --measure`";
  const auto taken = taken_on(page, problem);
  const bool is_gpu =
      view.environment && text(field(view.environment->payload, "device"), "backend") == "cuda";
  if (!is_gpu || !taken) return "`sdpa-wb diagnose --measure` in a session after this one";
  return fmt::format("`sdpa-wb profile {} --problem '{}'`", plain(taken->variant, 80),
                     plain(taken->problem, 160));
}

void add_gap(const Page& page, std::vector<Step>& steps) {
  const std::vector<outcome::Loss> lost = outcome::losses_of(page.conclusion).to_rivals;
  if (lost.empty() || !(lost.front().figure.speedup > 0)) return;
  const outcome::Loss& worst = lost.front();
  const std::string where = inline_text(worst.problem, 60);
  const std::string rival = code(base_name(worst.against), 40);
  const std::string gain = fmt::format("up to {} there{}", speedup(1 / worst.figure.speedup),
                                       cite_ends(worst.figure.events));
  // What to go on with need not be what is taken there.
  const bool is_developed = !page.conclusion.recommendation.develop.empty();
  if (is_cause_known(page, is_developed ? std::string() : worst.problem)) {
    std::string what = fmt::format("Close the gap to {} on {}", rival, where);
    if (lost.size() > 1) {
      what += fmt::format(", then to the fastest rival on {} more", lost.size() - 1);
    }
    const Json* entry = first_of_roadmap(page);
    steps.push_back({what + ": " + cure_words(page, worst.problem),
                     entry == nullptr ? gain : gain + "; " + entry_gain(*entry) + " of that step",
                     iteration_effort(page), cause_risk(true)});
    return;
  }
  // Nothing tells what to change there, so that comes first.

  steps.push_back({fmt::format("Find out why {} is slower than {}: {}", where, rival,
                               looking_command(page, worst.problem)),
                   gain, "a few measurements", k_only_measures});
}

/// The roadmap's steps that promise a gain.
void add_roadmap(const Page& page, std::vector<Step>& steps) {
  const auto& roadmap = page.facts.view.roadmap;
  if (!roadmap || !is_recommended(page, text(roadmap->payload, "incumbent"))) return;
  std::size_t n = 0;
  for (const Json& entry : list_of(roadmap->payload, "entries")) {
    const auto expected = number(entry, "expected"), hours_low = number(entry, "hours_low"),
               hours_high = number(entry, "hours_high");
    if (!expected || *expected < k_least_gain || ++n > 2) continue;
    const std::string word = code(text(entry, "technique"), 40);
    const bool is_told = std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
      return step.what.find(word) != std::string::npos;
    });
    if (is_told) continue;
    steps.push_back({fmt::format("Try {} ({})", inline_text(text(entry, "title"), 60), word),
                     entry_gain(entry) + cite(roadmap->seq),
                     hours_low && hours_high
                         ? fmt::format("{:g} to {:g} h", *hours_low, *hours_high)
                         : iteration_effort(page),
                     inline_text(text(entry, "risk"), 20)});
  }
}

void add_undecided(const Page& page, std::vector<Step>& steps) {
  const outcome::Group* group = page.conclusion.main_group();
  if (group == nullptr || group->by_problem.over_rival.undecided.empty()) return;
  std::vector<std::size_t> open;
  std::string event;
  for (const std::size_t at : group->by_problem.over_rival.undecided) {
    const outcome::Standing* standing = group->problems[at].find(group->by_problem.variants[at]);
    if (standing == nullptr || !standing->over_rival) continue;
    const measure::Interval& interval = standing->over_rival->interval;
    // Who is ahead by less than that changes no decision.
    const bool is_level = measure::is_valid(interval) && interval.low > 1 - k_level_frac &&
                          interval.high < 1 + k_level_frac;
    if (is_level) continue;
    if (open.empty()) event = cite_ends(standing->over_rival->events);
    open.push_back(at);
  }
  if (open.empty()) return;
  steps.push_back(
      {fmt::format("Measure {} again, in more worker processes", problem_names(*group, open, 3)),
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
    const auto predicted =
        number(field(iteration->opened.payload, "hypothesis"), "predicted_speedup");
    if (predicted && *predicted < k_least_gain) continue;
    if (was_repeated(page, *iteration) || ++n > 2) continue;
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

void add_room(const Page& page, std::vector<Step>& steps) {
  const auto rooms = rooms_now(page);
  // Where a rival is faster it shows how much can be had, and the step about the gap is listed.
  const auto lost = outcome::losses_of(page.conclusion).to_rivals;
  const auto found = std::find_if(rooms.begin(), rooms.end(), [&](const Room& room) {
    return std::none_of(lost.begin(), lost.end(),
                        [&](const auto& one) { return one.problem == room.problem; });
  });
  if (found == rooms.end() || found->factor < k_least_room) return;
  const Room& most = *found;
  // Room of the start says nothing of a variant that was only compared.
  if (!is_recommended(page, page.facts.view.incumbent)) return;
  steps.push_back({fmt::format("Find why {} takes {} times its bound, {}: {}",
                               most.problem.empty() ? "the suite" : inline_text(most.problem, 60),
                               fixed(most.factor, 1), inline_text(most.bound, 60),
                               looking_command(page, most.problem)),
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
  // A cause that is found may bring more than small gains that are known.
  const Json* first = first_of_roadmap(page);
  const bool is_small = first != nullptr && number(*first, "expected").value_or(0) < k_small_gain;
  if (is_small) add_room(page, steps);
  add_roadmap(page, steps);
  add_undecided(page, steps);
  add_unmeasured_ideas(page, steps);
  if (!is_small) add_room(page, steps);
  return steps;
}

}  // namespace wb::report::two_pages
