// SPDX-License-Identifier: MIT
// The first screen: the essentials in at most 15 lines.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "report/causes.hpp"
#include "report/session_sections.hpp"
#include "session/session.hpp"

namespace wb::report {

using session::Fact;
using session::IterationView;
using session::SessionStatus;

namespace {

constexpr std::size_t k_named_problems = 3;

std::string tally(const Facts& facts) {
  std::map<IterationOutcome, std::int64_t> counts;
  for (const IterationView* iteration : facts.tries) ++counts[outcome_of(*iteration)];
  std::string out;
  for (const IterationOutcome outcome :
       {IterationOutcome::win, IterationOutcome::no_gain, IterationOutcome::invalid,
        IterationOutcome::abandoned, IterationOutcome::open}) {
    if (!counts.contains(outcome)) continue;
    const std::string word(to_string(outcome));
    out += (out.empty() ? "" : ", ") + (outcome == IterationOutcome::win
                                            ? count(counts[outcome], word)
                                            : fmt::format("{} {}", counts[outcome], word));
  }
  return out;
}

std::string rule_name(const std::string& rule) {
  if (rule == "geomean_speedup") return "geometric mean";
  if (rule == "weighted_time") return "weighted time";
  return rule == "one_problem" ? std::string("one problem") : inline_text(rule, 40);
}

std::string outcome_line(const Page& page) {
  const Facts& facts = page.facts;
  const session::SessionView& view = facts.view;
  std::string out;
  if (view.status == SessionStatus::closed && view.closed) {
    const std::string reason = text(view.closed->payload, "reason");
    out =
        "closed" + cite(view.closed->seq) + (reason.empty() ? "" : " (" + brief(reason, 120) + ")");
  } else if (const IterationView* flight = view.in_flight()) {
    out = fmt::format("not closed: {} {} in flight{}",
                      view.status == SessionStatus::paused ? "paused with iteration" : "iteration",
                      flight->number, cite(flight->opened.seq));
  } else {
    out = view.status == SessionStatus::paused ? "paused, not closed" : "open, not closed";
  }
  out +=
      "; " + (facts.tries.empty()
                  ? std::string(facts.baseline == nullptr ? "no baseline yet" : "baseline only")
                  : fmt::format("baseline and {}: {}",
                                count(static_cast<std::int64_t>(facts.tries.size()), "iteration"),
                                tally(facts)));
  return out + ".";
}

std::string gain_line(const Page& page) {
  const Facts& facts = page.facts;
  const outcome::Outcome& made = page.conclusion;
  const bool is_start = made.recommendation.advice == outcome::Advice::keep_start;
  // Another choice than the incumbent has no confirmed steps: the outcome has its figures.
  if (made.main_group() != nullptr && !takes_incumbent(page) && !(is_start && facts.wins.empty())) {
    return told(outcome::headline(made) + "." + outcome::bias_words(made)) +
           (made.recommendation.confirmation ? " Not yet confirmed in one run." : "");
  }
  if (facts.baseline == nullptr) return "none yet: the baseline has not been measured.";
  if (facts.wins.empty()) {
    return facts.tries.empty() && facts.view.outside.comparisons.empty()
               ? "none yet: no iteration was run."
               : fmt::format("none: no change to the start {} was confirmed faster.",
                             code(facts.start, 60));
  }
  const auto found = gain(page, facts.plan);
  if (!found) {
    return fmt::format("{} became the incumbent, but its confirmed figure is not in the log.",
                       incumbent_name(page));
  }
  const std::string how = page.steps.size() > 1
                              ? fmt::format("product of {} confirmed steps", page.steps.size())
                              : std::string("confirmed in fresh processes");
  const std::string over =
      facts.suite.size() == 1
          ? std::string("one problem")
          : fmt::format("{} over {} problems", rule_name(facts.rule), facts.suite.size());
  return fmt::format("{} over the start {}{} by {}; {}, {}, {}.", speedup(found->ratio),
                     code(facts.start, 60), cite(found->events), incumbent_name(page), over,
                     inline_text(facts.plan_label(facts.plan), 40), how);
}

/// Why no rival has a valid time.
std::string missing_rival(const Facts& facts) {
  if (facts.rivals.empty()) return "unknown: no rival was measured.";
  const RivalFacts& first = facts.rivals.begin()->second;
  if (!first.built || !first.failed.empty()) {
    return fmt::format("unknown: the rival {} failed ({}){} and is not compared with.",
                       rival_name(first), inline_text(first.failure, 80), cite(first.failure_seq));
  }
  return fmt::format("unknown: the rival {} has no comparison with the incumbent.",
                     rival_name(first));
}

/// Text if rivals stand, but on each problem a possibly fastest one has no figure.
std::string no_figure(const outcome::Total& rivals) {
  return fmt::format("unknown: on {} a rival has no figure and may be the fastest{}.",
                     count(static_cast<std::int64_t>(rivals.measured()), "problem"),
                     cite(rivals.events));
}

std::string named_losses(const std::vector<outcome::Loss>& losses) {
  std::string out;
  for (std::size_t i = 0; i < std::min(losses.size(), k_named_problems); ++i) {
    const outcome::Figure& figure = losses[i].figure;
    out += fmt::format(
        "{} {} {}{}", i == 0 ? ":" : ",", inline_text(losses[i].problem, 60),
        speedup(Ratio{
            .value = figure.speedup, .low = figure.interval.low, .high = figure.interval.high}),
        cite(figure.events));
  }
  return losses.size() > k_named_problems
             ? fmt::format("{} and {} more", out, losses.size() - k_named_problems)
             : out;
}

/// What is slower than the start, if the recommendation is followed and if the incumbent is used.
std::string lost_to_start(const Page& page, const outcome::Losses& losses) {
  std::string out;
  if (!losses.to_start.empty()) {
    out += " Slower than the start" + named_losses(losses.to_start) + ".";
  }
  if (!losses.of_incumbent.empty()) {
    out += fmt::format(" The incumbent {} alone is slower than the start{}.",
                       code(page.conclusion.incumbent, 60), named_losses(losses.of_incumbent));
  }
  return out;
}

std::string lost_line(const Page& page) {
  const outcome::Losses losses = outcome::losses_of(page.conclusion);
  const outcome::Choice* choice = page.conclusion.chosen();
  if (choice == nullptr || choice->over_rival.measured() == 0) {
    return missing_rival(page.facts) + lost_to_start(page, losses);
  }
  const outcome::Total& rivals = choice->over_rival;
  if (!rivals.mean) return no_figure(rivals) + lost_to_start(page, losses);
  std::string out = fmt::format("{} of {} to {}{}", rivals.slower.size(),
                                count(static_cast<std::int64_t>(rivals.measured()), "problem"),
                                rival_words(page), named_losses(losses.to_rivals));
  out += fmt::format("; won {}, same {}, ambiguous {}", rivals.faster.size(), rivals.same.size(),
                     rivals.undecided.size());
  if (!rivals.missing.empty()) out += fmt::format(", not compared {}", rivals.missing.size());
  return out + "." + lost_to_start(page, losses);
}

std::string resolution_line(const Page& page) {
  const Facts& facts = page.facts;
  const Fact* widest = nullptr;
  double floor_frac = -1;
  const Fact* blindest = nullptr;
  double hidden_frac = 0;
  for (const Fact* fact : floors_in_use(facts)) {
    const std::string plan = text(fact->payload, "plan");
    if (!plan.empty() && plan != facts.plan) continue;
    const auto value = number(fact->payload, "floor_frac");
    if (value && *value > floor_frac) {
      widest = fact;
      floor_frac = *value;
    }
    const auto hidden = number(fact->payload, "cannot_show_frac");
    if (hidden && *hidden > hidden_frac) {
      blindest = fact;
      hidden_frac = *hidden;
    }
  }
  std::string out = widest == nullptr ? std::string("noise floor not measured")
                                      : fmt::format("noise floor {} at most{}", percent(floor_frac),
                                                    cite(widest->seq));
  if (blindest != nullptr) {
    out += fmt::format("; at its opening a gain below {} could not be shown{}",
                       percent(hidden_frac), cite(blindest->seq));
  }
  const Compared* figure = objective_figure(facts, page.held, facts.plan);
  for (const SuiteEntry& entry : facts.suite) {
    if (figure == nullptr) figure = fastest_rival(facts, page.held, entry.problem, facts.plan);
  }
  if (figure != nullptr && figure->resolution_frac) {
    out += fmt::format("; a gain below {} would not have been seen{}",
                       percent(figure->resolution_frac), cite(figure->seq));
  }
  if (figure != nullptr && figure->instances && figure->rounds) {
    out +=
        fmt::format("; {} a subject, {}{}",
                    *figure->instances == 1 ? "1 fresh process"
                                            : fmt::format("{} fresh processes", *figure->instances),
                    count(*figure->rounds, "round"), cite(figure->seq));
  }
  std::int64_t evaluations = 0;
  for (const IterationView* iteration : facts.tries) {
    evaluations += static_cast<std::int64_t>(iteration->evaluations.size());
  }
  out += "; tried: " + count(static_cast<std::int64_t>(facts.tries.size()), "iteration");
  if (evaluations > 0) out += " (" + count(evaluations, "evaluation") + ")";
  return out + ".";
}

std::string spend_line(const Page& page) {
  const session::SessionView& view = page.facts.view;
  const Json& budget = field(view.opened.payload, "budget");
  std::string out = page.costs.spend();
  const auto wall_s = seconds_between(view.opened.t, view.last_t);
  if (wall_s) out += "; wall time " + duration(*wall_s);
  std::vector<std::string> limits;
  if (const auto limit = integer(budget, "evaluations")) {
    limits.push_back(count(*limit, "evaluation"));
  }
  if (const auto limit = number(budget, "wall_s")) limits.push_back(duration(*limit));
  if (const auto limit = number(budget, "usd")) limits.push_back("$" + fixed(*limit, 2));
  out += limits.empty() ? "; no budget set" : "; budget ";
  for (std::size_t i = 0; i < limits.size(); ++i) out += (i == 0 ? "" : ", ") + limits[i];
  return out + ".";
}

std::string headroom_line(const Page& page) {
  const auto found = rooms_now(page);
  if (found.empty()) return "unknown: no time or no bound of the incumbent is known.";
  const Room& most = found.front();
  std::string out = fmt::format("most on {}: {} of the bound's speed ({}), up to {}x left{}",
                                most.problem.empty() ? "the suite" : inline_text(most.problem, 60),
                                percent(1 / most.factor), inline_text(most.bound, 60),
                                fixed(most.factor, most.factor < 10 ? 1 : 0), cite(most.events));
  if (found.size() > 1) {
    const Room& least = found.back();
    out += fmt::format("; least on {}: {}{}", inline_text(least.problem, 60),
                       percent(1 / least.factor), cite(least.events));
  }
  return out + ".";
}

}  // namespace

std::string first_screen(const Page& page) {
  const Facts& facts = page.facts;
  const Json& opened = facts.view.opened.payload;
  const std::string title = text(opened, "title");
  std::string session = text(opened, "session");
  if (session.empty()) session = "without a name";
  std::string out = "# Session " + inline_text(session, 80) +
                    (title.empty() ? "" : ": " + inline_text(title, 120)) +
                    (field(opened, session::k_redacted_key).is_object() ? " (redacted copy)" : "") +
                    "\n\n";
  const auto line = [&](const char* name, const std::string& words) {
    out += fmt::format("- **{}:** {}\n", name, words);
  };
  if (const std::string goals = goals_line(page); !goals.empty()) line("Goals", goals + ".");
  line("Outcome", outcome_line(page));
  line("Gain", gain_line(page));
  line("Lost", lost_line(page));
  line("Resolution", resolution_line(page));
  line("Spend", spend_line(page));
  line("Headroom", headroom_line(page));
  line("Recommendation", advice(page));
  out += "\n";
  std::vector<std::string> plans{facts.plan};
  for (const char* word : {"hot", "cold", "eager"}) {
    if (word != facts.plan) plans.emplace_back(word);
  }
  // One row per plan keeps the table narrow enough for a terminal.
  const bool none_stands = !is_rival_compared(page);
  // Where something else is recommended, the table must not be read as its figures.
  const bool is_other = page.conclusion.main_group() != nullptr && !takes_incumbent(page) &&
                        !page.facts.view.incumbent.empty();
  Table table({"speedup [" + interval_name(page.held) + "]" +
                   (is_other ? " of " + incumbent_name(page, false) : std::string()),
               "over the start " + code(facts.start, 60),
               none_stands ? "over a rival" : "over " + sdpa_column(page)});
  for (const std::string& plan : plans) {
    table.row({inline_text(facts.plan_label(plan), 40) + (plan == facts.plan ? " (decides)" : ""),
               gain_cell(page, plan), none_stands ? "none stands" : sdpa_cell(page, plan)});
  }
  return out + table.str() + "\n";
}

}  // namespace wb::report
