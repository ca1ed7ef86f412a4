// SPDX-License-Identifier: MIT
// reports/session_full.md: the order of its sections, and what was set out to be done.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "report/causes.hpp"
#include "report/findings.hpp"
#include "report/report.hpp"
#include "report/session_sections.hpp"
#include "session/session.hpp"

namespace wb::report {
namespace {

std::string limit_words(const Json& budget) {
  std::vector<std::string> parts;
  if (const auto limit = integer(budget, "evaluations"))
    parts.push_back(count(*limit, "evaluation"));
  if (const auto limit = number(budget, "wall_s")) parts.push_back(duration(*limit) + " wall time");
  if (const auto limit = number(budget, "usd")) parts.push_back("$" + fixed(*limit, 2));
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out.empty() ? "none set" : out;
}

std::string stop_words(const Json& stop) {
  std::string out;
  if (const auto n = integer(stop, "plateau")) {
    out += fmt::format("{} without a win in a row", count(*n, "iteration"));
  }
  if (const auto n = integer(stop, "equal_failures")) {
    out += fmt::format("{}{} in a row", out.empty() ? "" : ", ", count(*n, "equal failure"));
  }
  return out.empty() ? "none set" : out;
}

std::string rule_words(const Facts& facts) {
  if (facts.rule == "geomean_speedup") return "geometric mean of the problems' speedups, by weight";
  if (facts.rule == "weighted_time") return "ratio of the weighted sums of times";
  if (facts.rule == "one_problem") {
    return "the speedup on " +
           inline_text(text(field(facts.view.opened.payload, "objective"), "problem"), 80);
  }
  return facts.rule.empty() ? "not recorded" : inline_text(facts.rule, 60);
}

}  // namespace

std::string objective_section(const Page& page) {
  const Facts& facts = page.facts;
  const Json& opened = facts.view.opened.payload;
  const Json& objective = field(opened, "objective");
  std::string out = "## Objective\n\n";
  out += fmt::format("Make {} faster{}. Rule: {}, plan {}; ", code(facts.start, 60),
                     cite(facts.view.opened.seq), rule_words(facts),
                     inline_text(facts.plan_label(facts.plan), 40));
  const auto guard = number(objective, "min_speedup");
  out += guard && *guard > 0 ? fmt::format("no problem may fall below {}. ", speedup(guard))
                             : std::string("no guard on single problems. ");
  out +=
      "A speedup is the other's time divided by the candidate's: above 1 the candidate is faster. "
      "The incumbent changes only when the interval's lower end lies above 1 + noise floor in "
      "fresh "
      "processes.\n\n";
  out += fmt::format(
      "Budget: {}. Stops: {}. Effort: {}.\n\n", limit_words(field(opened, "budget")),
      stop_words(field(opened, "stop")),
      text(opened, "effort").empty() ? "not recorded" : inline_text(text(opened, "effort"), 40));
  const std::string suite = text(field(opened, "suite"), "name");
  out += fmt::format(
      "Suite {}: {}. B batch, Hq query and Hkv key/value heads, Sq queries, Skv keys, "
      "D head dim; the names stand for these shapes throughout.\n\n",
      suite.empty() ? "without a name" : code(suite, 60),
      count(static_cast<std::int64_t>(facts.suite.size()), "problem"));
  if (facts.suite.empty()) return out;
  // A column with the same value everywhere is left out.
  const auto differs = [&](auto SuiteEntry::*member) {
    return std::any_of(facts.suite.begin(), facts.suite.end(), [&](const SuiteEntry& entry) {
      return entry.*member != facts.suite.front().*member;
    });
  };
  const bool has_weights = differs(&SuiteEntry::weight);
  const bool has_shares = std::any_of(facts.suite.begin(), facts.suite.end(),
                                      [](const auto& entry) { return entry.share_frac; });
  const bool has_held_out = differs(&SuiteEntry::held_out) || facts.suite.front().held_out;
  std::vector<std::string> header{"problem"};
  if (has_weights) header.emplace_back("weight>");
  if (has_held_out) header.emplace_back("held out");
  if (has_shares) header.emplace_back("share of the profile>");
  header.emplace_back("shape");
  Table table(header);
  for (const SuiteEntry& entry : facts.suite) {
    const bool hidden = entry.held_out && facts.hide_held_out;
    std::vector<std::string> cells{inline_text(facts.title(entry.problem), 60)};
    if (has_weights) cells.push_back(fmt::format("{:g}", entry.weight));
    if (has_held_out) cells.emplace_back(entry.held_out ? "yes" : "no");
    if (has_shares) {
      cells.push_back(entry.share_frac ? fmt::format("{:.2f} %", 100 * *entry.share_frac) : "-");
    }
    // Last, so that its length widens no other column.
    cells.push_back(hidden ? "shown once the session is closed" : code(entry.problem, 160));
    table.row(std::move(cells));
  }
  return out + table.str() + "\n";
}

}  // namespace wb::report

namespace wb::report {

std::string render_session(const session::SessionView& view) {
  const Page page(view);
  std::string out = first_screen(page);
  out += objective_section(page);
  out += environment_section(page);
  out += baseline_section(page);
  out += result_section(page);
  out += iterations_section(page);
  out += outside_section(page);
  out += hypotheses_section(page);
  out += findings_section(page);
  out += correctness_section(page);
  out += cost_section(page.facts, page.costs) + gain_per_cost(page);
  // Without a plan or named phases the section would repeat the cost table.
  if (has_stated_plan(page.facts)) out += execution_section(page);
  out += series_section(page);
  out += next_steps_section(page);
  out += causes_section(page);
  out += roadmap_section(page);
  out += decision_section(page);
  out += checklist_section(page);
  out += unseen_section(page);
  out += notes_section(page);
  out += fmt::format(
      "---\n\nMade from {} of the session's log, head `{}`. `sdpa-wb show eN` prints the event "
      "behind "
      "[eN], with all samples where it is a turn.\n",
      count(view.events, "event"), plain(view.log_head.substr(0, 12)));
  const Json& redacted = field(view.opened.payload, session::k_redacted_key);
  if (redacted.is_object()) {
    out += fmt::format(
        "\nThis is a redacted copy: names, addresses and paths were replaced and the chain was "
        "made "
        "anew. The log it was made from had the head `{}`.\n",
        plain(text(redacted, "log_head").substr(0, 12)));
  }
  return out;
}

}  // namespace wb::report
