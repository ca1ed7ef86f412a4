// SPDX-License-Identifier: MIT
// Of the report of two pages: what is next.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "report/causes.hpp"
#include "report/summary.hpp"

namespace wb::report::two_pages {

using session::IterationView;

namespace {

constexpr const char* k_only_measures = "none: it only measures";
constexpr std::size_t k_step_bytes = 110;
/// Smaller expected gains of a roadmap are not worth a row.
constexpr double k_least_gain = 1.02;
constexpr double k_small_gain = 1.05, k_some_gain = 1.005;
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
    return fmt::format("{} over the {}, if it holds; {} by one variant", speedup(many_mean->value),
                       over, speedup(one_mean->value));
  };
  const std::string gain = many && one               ? told_gain(many, one, "rivals")
                           : many_start && one_start ? told_gain(many_start, one_start, "start")
                                                     : "the choice by problem";
  std::string on, suite = text(field(page.facts.view.opened.payload, "suite"), "name");
  std::set<std::string> rivals;
  for (const std::size_t at : made.confirmation->problems) {
    const outcome::ProblemOutcome& problem = group->problems[at];
    const outcome::Standing* standing = problem.find(made.confirmation->candidate);
    if (standing != nullptr && !standing->rival.empty()) {
      rivals.insert(std::string(base_name(standing->rival)));
    }
    on += (on.empty() ? ":" : ",") + problem.name;
  }
  std::string command = fmt::format("sdpa-wb compare {} {}", made.confirmation->candidate,
                                    made.confirmation->against);
  if (!rivals.empty()) command += fmt::format(" --others {}", fmt::join(rivals, " "));
  // Names of a suite that was put together of others are no names of its parts.
  const bool is_named =
      group->is_suite && !suite.empty() && suite.find_first_of(":+ ") == std::string::npos;
  if (is_named) command += " --suite " + suite + on;
  steps.push_back(
      {fmt::format("Confirm the dispatch in one run{}: {}",
                   is_named ? std::string()
                            : " on " + problem_names(*group, made.confirmation->problems, 3),
                   code(command, 300)),
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

/// The kernel at hand that has an entry's technique; empty where it is to be written or turned on.
std::string kernel_with(const Json& entry) {
  constexpr std::string_view k_has = " has it";
  const std::string how = text(entry, "how");
  return how.ends_with(k_has) ? how.substr(0, how.size() - k_has.size()) : std::string();
}

/// "try loads of 16 bytes (`vectorized_loads`) by VECTOR_LOADS=1".
std::string entry_words(const Json& entry) {
  const std::string title = inline_text(text(entry, "title"), 60), how = text(entry, "how"),
                    word = code(text(entry, "technique"), 40), kernel = kernel_with(entry);
  if (!kernel.empty()) {
    return fmt::format("compare {}, which has {} ({})", code(kernel, 60), title, word);
  }
  return fmt::format("try {} ({}){}", title, word,
                     how.empty() ? "" : " by " + inline_text(how, 60));
}

std::string entry_effort(const Page& page, const Json& entry) {
  if (!kernel_with(entry).empty()) return "one comparison";
  const auto low = number(entry, "hours_low"), high = number(entry, "hours_high");
  return low && high ? fmt::format("{:g} to {:g} h", *low, *high) : iteration_effort(page);
}

std::string entry_risk(const Json& entry) {
  return kernel_with(entry).empty() ? inline_text(text(entry, "risk"), 20)
                                    : std::string(k_only_measures);
}

/// "1.88x (1.10x to 3.20x)" over the suite, of a roadmap's entry.
std::string entry_gain(const Json& entry) {
  const auto low = number(entry, "low"), high = number(entry, "high");
  const std::string expected = speedup(number(entry, "expected"));
  return low && high ? fmt::format("{} ({} to {})", expected, speedup(low), speedup(high))
                     : expected;
}

/// The roadmap's steps for what is recommended that promise a gain: first the one with the largest
/// gain of those that a kernel at hand has, as one comparison decides it; then the others in its
/// order.
std::vector<const Json*> roadmap_steps(const Page& page) {
  std::vector<const Json*> steps;
  const auto& roadmap = page.facts.view.roadmap;
  if (!roadmap || !is_recommended(page, text(roadmap->payload, "incumbent"))) return steps;
  for (const Json& entry : list_of(roadmap->payload, "entries")) {
    if (number(entry, "expected").value_or(0) >= k_least_gain) steps.push_back(&entry);
  }
  const auto at_hand = [](const Json* entry) {
    return kernel_with(*entry).empty() ? 0.0 : number(*entry, "expected").value_or(0);
  };
  const auto best = std::max_element(steps.begin(), steps.end(), [&](const Json* a, const Json* b) {
    return at_hand(a) < at_hand(b);
  });
  if (best != steps.end() && at_hand(*best) > 0) std::rotate(steps.begin(), best, best + 1);
  // One comparison decides all that a kernel has.
  std::set<std::string> kernels;
  std::erase_if(steps, [&](const Json* entry) {
    const std::string kernel = kernel_with(*entry);
    return !kernel.empty() && !kernels.insert(kernel).second;
  });
  return steps;
}

const Json* first_of_roadmap(const Page& page) {
  const auto steps = roadmap_steps(page);
  return steps.empty() ? nullptr : steps.front();
}

/// What would help there: the roadmap's idea, else the cause that the page names, else what to find
/// out.
std::string cure_words(const Page& page, const std::string& problem = {}) {
  if (const Json* entry = first_of_roadmap(page)) return entry_words(*entry);
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

/// The figure over the fastest rival of the variant to go on with, where rivals are used.
std::optional<outcome::Figure> developed_on(const Page& page, const std::string& problem) {
  const std::string& develop = page.conclusion.recommendation.develop;
  const outcome::Group* group = page.conclusion.main_group();
  if (develop.empty() || group == nullptr) return std::nullopt;
  for (const outcome::ProblemOutcome& one : group->problems) {
    if (one.name != problem) continue;
    const outcome::Standing* standing = one.find(develop);
    const bool has_figure =
        standing != nullptr && standing->over_rival && standing->over_rival->speedup > 0;
    return has_figure ? standing->over_rival : std::nullopt;
  }
  return std::nullopt;
}

void add_gap(const Page& page, std::vector<Step>& steps) {
  const std::vector<outcome::Loss> lost = outcome::losses_of(page.conclusion).to_rivals;
  if (lost.empty() || !(lost.front().figure.speedup > 0)) return;
  outcome::Loss worst = lost.front();
  // What to go on with need not be what is taken there.
  const std::string& develop = page.conclusion.recommendation.develop;
  if (const auto own = developed_on(page, worst.problem)) worst.figure = *own;
  const std::string where = inline_text(worst.problem, 60);
  const std::string rival = code(base_name(worst.against), 40);
  const std::string gap = fmt::format("{} there{}", speedup(1 / worst.figure.speedup),
                                      cite_ends(worst.figure.events)),
                    gain = "up to " + gap;
  if (is_cause_known(page, develop.empty() ? worst.problem : std::string())) {
    std::string what = fmt::format("Close the gap to {} on {}", rival, where);
    if (lost.size() > 1) {
      what += fmt::format(", then to the fastest rival on {} more", lost.size() - 1);
    }
    const Json* entry = first_of_roadmap(page);
    steps.push_back(
        {what + ": " + cure_words(page, worst.problem),
         entry == nullptr
             ? gain
             : fmt::format("{} expected over the suite; the gap{} is {}", entry_gain(*entry),
                           develop.empty() ? "" : " of " + code(develop, 60), gap),
         entry == nullptr ? iteration_effort(page) : entry_effort(page, *entry),
         entry == nullptr ? cause_risk(true) : entry_risk(*entry)});
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
  for (const Json* step : roadmap_steps(page)) {
    const Json& entry = *step;
    if (++n > 2) break;
    const std::string word = code(text(entry, "technique"), 40);
    const bool is_told = std::any_of(steps.begin(), steps.end(), [&](const Step& other) {
      return other.what.find(word) != std::string::npos;
    });
    if (is_told) continue;
    std::string what = entry_words(entry);
    what.front() = ascii::upper(what.front());
    steps.push_back({std::move(what), entry_gain(entry) + " over the suite" + cite(roadmap->seq),
                     entry_effort(page, entry), entry_risk(entry)});
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

/// "; `a`, `b` may help" of what the roadmap has against what bounds the problem.
std::string ideas_against(const Page& page, const std::string& problem) {
  const auto& roadmap = page.facts.view.roadmap;
  if (!roadmap) return {};
  for (const Json& room : list_of(roadmap->payload, "room")) {
    const std::vector<std::string> problems = strings(room, "problems"),
                                   steps = strings(room, "steps");
    const bool is_there = std::any_of(problems.begin(), problems.end(), [&](const auto& name) {
      return page.facts.title(name) == problem || page.facts.words(name) == problem;
    });
    if (!is_there || steps.empty()) continue;
    std::string out;
    std::size_t n = 0;
    for (const Json& entry : list_of(roadmap->payload, "entries")) {
      const std::string step = text(entry, "technique");
      const bool is_against = std::find(steps.begin(), steps.end(), step) != steps.end();
      if (!is_against || number(entry, "expected").value_or(0) < k_some_gain || ++n > 2) continue;
      out += (n == 1 ? "; " : ", ") + code(step, 40);
    }
    return out.empty() ? out : out + " may help";
  }
  return {};
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
  steps.push_back(
      {fmt::format("Find why {} takes {} times the least it could ({}): {}",
                   most.problem.empty() ? "the suite" : inline_text(most.problem, 60),
                   fixed(most.factor, 1), inline_text(most.bound, 60),
                   looking_command(page, most.problem)),
       fmt::format("at most {}x there{}{}", fixed(most.factor, most.factor < 10 ? 1 : 0),
                   cite(most.events), ideas_against(page, most.problem)),
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
