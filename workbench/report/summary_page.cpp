// SPDX-License-Identifier: MIT
// reports/session.md: the report of two pages, for somebody who has to decide. It answers what was
// asked, what won and why, where not, what it cost and what is next. reports/session_full.md has
// the rest.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "report/report.hpp"
#include "report/summary.hpp"
#include "session/goals.hpp"
#include "session/session.hpp"

namespace wb::report::two_pages {

using session::Fact;
using session::GoalState;
using session::SessionStatus;

namespace {

constexpr std::size_t k_most_words = 890;

// Goals
// -------------------------------------------------------------------------------------------

/// The number before the words, as 1.20 in "geometric mean 1.20 asked for".
std::optional<double> number_before(std::string_view said, std::string_view words) {
  const std::size_t end = said.find(words);
  if (end == std::string_view::npos) return {};
  const std::string_view before = said.substr(0, end);
  return ascii::number<double>(before.substr(before.rfind(' ') + 1));
}

/// A goal of a playbook that noted what came of it: "NAME: geometric mean 1.20 asked for, 1.181
/// reached; lowest PROBLEM 1.137; goal missed".
std::optional<GoalRow> noted_goal(const Fact& note) {
  constexpr std::string_view k_state = "; goal ", k_lowest = "; lowest ";
  const std::string said = text(note.payload, "text");
  const std::size_t colon = said.find(": "), state = said.find(k_state);
  if (colon == std::string::npos || state == std::string::npos || colon > state) return {};
  const std::size_t word = state + k_state.size();
  const std::string found = said.substr(word, said.find(';', word) - word);
  if (found != "reached" && found != "missed") return {};
  const std::size_t figures = said.find(';');
  if (figures < colon) return {};
  const std::string result = said.substr(colon + 2, figures - colon - 2);
  GoalRow row{.goal = inline_text(said.substr(0, colon), 60),
              .result = inline_text(result, 80) + cite(note.seq),
              .state = found == "reached" ? GoalState::reached : GoalState::missed};
  row.asked = number_before(result, " asked for");
  row.reached = number_before(result, " reached");
  row.events = {note.seq};
  if (const std::size_t at = said.find(k_lowest); at != std::string::npos) {
    const std::size_t from = at + k_lowest.size();
    const std::string lowest = said.substr(from, said.find(';', from) - from);
    const std::size_t end = lowest.rfind(' ');
    row.lowest = lowest.substr(0, end);
    if (end != std::string::npos) {
      row.lowest_speedup = ascii::number<double>(std::string_view(lowest).substr(end + 1));
    }
  }
  return row;
}

}  // namespace

std::vector<GoalRow> goals_shown(const Page& page) {
  std::vector<GoalRow> rows;
  for (const auto& [goal, result] : session::goals_of(page.facts.view)) {
    rows.push_back({.goal = code(goal.text, 100),
                    .result = goal_words(goal, result) + cite_ends(result.events),
                    .state = result.state,
                    .asked = goal.at_least,
                    .reached = result.value,
                    .lowest = result.lowest,
                    .lowest_speedup = {},
                    .events = result.events});
  }
  if (rows.empty()) {
    for (const Fact& note : page.facts.view.notes) {
      if (auto row = noted_goal(note)) rows.push_back(*std::move(row));
    }
  }
  const auto rank = [](const GoalRow& row) {
    return row.state == GoalState::missed ? 0 : row.state == GoalState::undecided ? 1 : 2;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const GoalRow& a, const GoalRow& b) { return rank(a) < rank(b); });
  return rows;
}

namespace {

/// "5 of 6 reached; missed: D 64".
std::string goal_summary(const std::vector<GoalRow>& rows) {
  std::size_t reached = 0;
  std::string others;
  for (const GoalRow& row : rows) {
    if (row.state == GoalState::reached) {
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

/// "11 problems of suite `n6`, 2 more held out [e1]".
std::string suite_words(const Facts& facts) {
  const Json& opened = facts.view.opened.payload;
  const auto held_out = static_cast<std::size_t>(
      std::count_if(facts.suite.begin(), facts.suite.end(),
                    [](const SuiteEntry& entry) { return entry.held_out; }));
  // A list of a suite's problems may follow its name.
  std::string suite = text(field(opened, "suite"), "name");
  suite = suite.substr(0, suite.find(':'));
  return fmt::format("{}{}{}{}",
                     facts.suite.empty() ? std::string("problems that the log does not name")
                                         : of_problems(facts.suite.size() - held_out),
                     suite.empty() ? "" : " of suite " + code(suite, 40),
                     held_out > 0 ? fmt::format(", {} more held out", held_out) : "",
                     cite(facts.view.opened.seq));
}

/// The rivals of the session and those that were compared on the problems advised about.
std::string rivals_asked(const Page& page) {
  std::set<std::string> names;
  for (const auto& [name, rival] : page.facts.rivals) names.insert(name);
  if (const outcome::Group* group = page.conclusion.main_group()) {
    for (const outcome::ProblemOutcome& problem : group->problems) {
      for (const outcome::Standing& standing : problem.standings) {
        if (!standing.rival.empty()) names.insert(std::string(base_name(standing.rival)));
      }
    }
  }
  std::string rivals;
  for (const std::string& name : names) rivals += (rivals.empty() ? "" : ", ") + code(name, 40);
  return rivals.empty() ? "No rival was named." : "Rivals: " + rivals + ".";
}

/// What the session was for. One that ended without an iteration measured and changed nothing.
std::string purpose(const Page& page) {
  const Facts& facts = page.facts;
  const outcome::Group* group = page.conclusion.main_group();
  const bool is_beside = group != nullptr && !group->is_suite;
  const std::string start = facts.start.empty() ? std::string("a kernel") : code(facts.start, 60);
  const std::string rule =
      fmt::format("What counts is {}, {}. {}", rule_of(facts),
                  inline_text(facts.plan_label(facts.plan), 30), rivals_asked(page));
  const std::string regime =
      is_beside ? inline_text(group->plan + (group->regime.empty() ? "" : " ") + group->regime, 40)
                : std::string();
  const bool is_survey =
      facts.tries.empty() && group != nullptr && facts.view.status == SessionStatus::closed;
  if (!is_survey) {
    std::string out = fmt::format("Make {} faster on {}. {}", start, suite_words(facts), rule);
    if (is_beside) {
      out += fmt::format(" {} were compared between iterations, {}: the result is about these.",
                         of_problems(group->problems.size()), regime);
    }
    return out;
  }
  if (!is_beside) {
    const bool has_rivals = group->by_problem.over_rival.measured() > 0;
    return fmt::format("Measure {}{} on {}. {}", start, has_rivals ? " beside rivals" : "",
                       suite_words(facts), rule);
  }
  return fmt::format(
      "Measure kernels beside rivals on {}, {}. {} The session was opened with {} on {}; the "
      "result is not about that.",
      of_problems(group->problems.size()), regime, rivals_asked(page), start, suite_words(facts));
}

std::string asked_section(const Page& page, const std::vector<GoalRow>& goals, const Size& size) {
  return "## What was asked\n\n" + goal_section(goals, size) + purpose(page) +
         budget_of(field(page.facts.view.opened.payload, "budget")) + "\n\n";
}

// The page
// ----------------------------------------------------------------------------------------

std::string step_table(const std::vector<Step>& steps, const Size& size) {
  std::string out = "## What is next\n\n";
  if (steps.empty()) return out + "Nothing that was measured asks for a next step.\n\n";
  Table table({"step", "gain", "effort", "risk"});
  for (std::size_t i = 0; i < std::min(steps.size(), size.steps); ++i) {
    table.row({steps[i].what, steps[i].gain, steps[i].effort, steps[i].risk});
  }
  return out + table.str() + "\n";
}

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
  return fmt::format("# Session {}{}{}\n\n{}{}{}.\n\n", inline_text(name, 80),
                     title.empty() ? "" : ": " + brief(title, 120),
                     field(opened, session::k_redacted_key).is_object() ? " (redacted copy)" : "",
                     device.empty() ? "" : inline_text(device, 60) + ", ",
                     view.last_t.size() < 10 ? "" : plain(view.last_t.substr(0, 10)) + ". ",
                     status) +
         "1.20x: the other takes 1.20 times as long. Brackets behind it hold its interval.\n\n";
}

std::string digest(const Page& page, const std::vector<GoalRow>& goals,
                   const std::vector<std::string>& why, const std::vector<Step>& steps) {
  std::string out;
  const auto line = [&](const char* name, const std::string& words) {
    out += fmt::format("- **{}:** {}\n", name, words);
  };
  if (!goals.empty()) line("Goals", goal_summary(goals));
  line("Recommendation", advice(page));
  // The headline figure of a dispatch rests on parts that were measured in separate runs.
  const bool is_open = page.conclusion.recommendation.confirmation.has_value();
  line("Result", result_words(page) + (is_open ? " Not yet confirmed in one run." : ""));
  line("Lost", lost_words(page));
  const bool are_rivals_ahead = !page.conclusion.recommendation.develop.empty();
  line(are_rivals_ahead ? "Cause of the loss" : "Cause", why.front());
  line("Cost", cost_words(page));
  // The table has the command.
  line("Next", steps.empty() ? "nothing that was measured asks for it."
                             : steps.front().what.substr(0, steps.front().what.find(": `")) + ".");
  return out + "\n";
}

std::string why_section(const std::vector<std::string>& why) {
  if (why.size() < 2) return {};  // the digest has it
  std::string out = "## Why\n\n";
  for (std::size_t i = 1; i < why.size(); ++i) out += "- " + why[i] + "\n";
  return out + "\n";
}

/// What the words for ways of timing, and for the regime, mean, of those that the page has.
std::string plan_glossary(const Page& page) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> k_plans{
      {{"hot", "warm caches"}, {"cold", "emptied caches"}, {"eager", "calls one by one"}}};
  std::string out;
  for (const auto& [plan, meaning] : k_plans) {
    const auto& plans = page.facts.plans;
    const bool is_used = std::find(plans.begin(), plans.end(), plan) != plans.end();
    if (is_used) out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", plan, meaning);
  }
  const auto add_regime = [&](std::string_view regime, std::string_view meaning) {
    const outcome::Group* group = page.conclusion.main_group();
    const bool is_used =
        page.facts.regime == regime || (group != nullptr && group->regime == regime);
    if (is_used) out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", regime, meaning);
  };
  add_regime("burst", "with pauses");
  add_regime("sustained", "without");
  if (!out.empty()) out[0] = ascii::upper(out[0]);
  return out.empty() ? out : " " + out + ".";
}

std::string foot(const Page& page) {
  const Json& redacted = field(page.facts.view.opened.payload, session::k_redacted_key);
  return fmt::format(
      "---\n\n[eN] is the event of a figure (`sdpa-wb show eN`), [eN] to [eM] the first and the "
      "last of "
      "several.{} Whole report: `session_full.md`, or `sdpa-wb report --kind full`. Log head "
      "`{}`.{}\n",
      plan_glossary(page), plain(page.facts.view.log_head.substr(0, 12)),
      redacted.is_object()
          ? " The original's head was `" + plain(text(redacted, "log_head").substr(0, 12)) + "`."
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
      has_letter = has_letter || ascii::is_alnum(c);
    }
  }
  return n + (has_letter ? 1 : 0);
}

/// What does not depend on the size of the page.
struct Parts {
  std::vector<GoalRow> goals;
  std::vector<std::string> why;
  std::vector<Step> steps;
};

std::string assembled(const Page& page, const Parts& parts, const Size& size) {
  return heading(page) + digest(page, parts.goals, parts.why, parts.steps) +
         asked_section(page, parts.goals, size) + problem_section(page, size) +
         other_groups_words(page) + why_section(parts.why) + tried_section(page, size) +
         money_section(page) + step_table(parts.steps, size) + decision(page) + foot(page);
}

}  // namespace

}  // namespace wb::report::two_pages

namespace wb::report {

std::string render_summary(const session::SessionView& view) {
  constexpr std::array k_sizes{
      two_pages::Size{},
      two_pages::Size{7, 4, 72, 200},
      two_pages::Size{7, 4, 56, 110},
      two_pages::Size{6, 4, 56, 110},
      two_pages::Size{5, 3, 48, 90},
      two_pages::Size{4, 3, 40, 70},
      two_pages::Size{3, 2, 30, 50},
  };
  const Page page(view);
  two_pages::Parts parts{two_pages::goals_shown(page), {}, two_pages::steps_ahead(page)};
  std::string out;
  for (const two_pages::Size& size : k_sizes) {
    parts.why = two_pages::reasons(page, size);
    out = two_pages::assembled(page, parts, size);
    if (two_pages::words_in(out) <= two_pages::k_most_words) break;
  }
  return out;
}

}  // namespace wb::report
