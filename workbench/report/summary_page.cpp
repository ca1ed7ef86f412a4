// SPDX-License-Identifier: MIT
// reports/session.md: the report of two pages, for somebody who has to decide. It answers what was
// asked, what won and why, where not, what it cost and what is next. reports/session_full.md has
// the rest.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "report/report.hpp"
#include "report/summary.hpp"
#include "session/goals.hpp"
#include "session/session.hpp"

namespace wb::report::two_pages {

using session::CostItem;
using session::Fact;
using session::SessionStatus;

namespace {

constexpr std::size_t k_most_words = 860;

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
    rows.push_back(
        {code(goal.text, 100), goal_words(goal, result) + cite_ends(result.events), result.state});
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
  const outcome::Group* group = page.conclusion.main_group();
  if (group != nullptr && !group->is_suite) {
    out += fmt::format(" {} were compared between iterations, {}{}{}: the result is about these.",
                       of_problems(group->problems.size()), inline_text(group->plan, 20),
                       group->regime.empty() ? "" : " ", inline_text(group->regime, 20));
  }
  return out + budget_of(field(opened, "budget")) + "\n\n";
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
  std::string out =
      fmt::format("- It holds for problems like these{}, {}.\n",
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
  const bool is_start = page.conclusion.recommendation.advice == outcome::Advice::keep_start;
  if (page.conclusion.main_group() == nullptr || !(is_start || advises_change(page))) {
    out += advice(page) + "\n\n";
  } else {
    out +=
        (advises_change(page) ? std::string("Take the recommendation if these hold:")
                              : told("Keep the start: " + outcome::start_reason(page.conclusion) +
                                     ". What to know of that:")) +
        "\n\n" + conditions(page) + "\n" + options(page);
  }
  if (view.closed) {
    const std::string said = text(view.closed->payload, "recommendation");
    if (!said.empty()) {
      out += fmt::format("The author advised{}: {}\n\n", cite(view.closed->seq), brief(said, 200));
    }
  }
  if (!view.decisions.empty()) {
    const Fact& last = view.decisions.back();
    const std::string reason = text(last.payload, "reason");
    out += fmt::format("Decided{}: {}: {}{}\n\n", cite(last.seq),
                       brief(text(last.payload, "question"), 160),
                       brief(text(last.payload, "choice"), 100),
                       reason.empty() ? "" : " (" + brief(reason, 160) + ")");
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
  return fmt::format("# Session {}{}{}\n\n{}{}{}.\n\n", inline_text(name, 80),
                     title.empty() ? "" : ": " + brief(title, 120),
                     field(opened, session::k_redacted_key).is_object() ? " (redacted copy)" : "",
                     device.empty() ? "" : inline_text(device, 60) + ", ",
                     view.last_t.size() < 10 ? "" : plain(view.last_t.substr(0, 10)) + ". ",
                     status);
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
  constexpr std::array k_sizes{two_pages::Size{}, two_pages::Size{7, 4, 56},
                               two_pages::Size{5, 4, 40}, two_pages::Size{4, 3, 30},
                               two_pages::Size{3, 2, 24}};
  const Page page(view);
  const two_pages::Parts parts{two_pages::goals_shown(page), two_pages::reasons(page),
                               two_pages::steps_ahead(page)};
  std::string out;
  for (const two_pages::Size& size : k_sizes) {
    out = two_pages::assembled(page, parts, size);
    if (two_pages::words_in(out) <= two_pages::k_most_words) break;
  }
  return out;
}

}  // namespace wb::report
