// SPDX-License-Identifier: MIT
// What the analyses found: each problem's position on the roofline as a table, other findings one
// line each, and what they could not measure.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "report/findings.hpp"

namespace wb::report {

using session::Fact;

namespace {

constexpr std::size_t k_max_lines = 40, k_max_findings = 60;

std::string plan_of(const Fact& finding) {
  return text(field(finding.payload, "figures"), "plan");
}

/// The regime and roofline findings of one problem.
struct Stand {
  const Fact *regime = nullptr, *share = nullptr;
};

bool goes_into_table(const Fact& finding) {
  const Json& figures = field(finding.payload, "figures");
  const std::string analysis = text(finding.payload, "analysis");
  if (text(finding.payload, "problem").empty()) return false;
  if (analysis == "regime") return !text(figures, "regime").empty();
  const auto share = number(figures, "share_frac");
  return analysis.starts_with("roofline") && share && *share > 0;
}

std::string finding_line(const Facts& facts, const Fact& finding) {
  const std::string problem = text(finding.payload, "problem");
  if (facts.hide_held_out && facts.is_held_out(problem)) {
    return fmt::format("- {}: shown once the session is closed{}\n",
                       inline_text(facts.title(problem), 60), cite(finding.seq));
  }
  std::vector<std::int64_t> rests_on;
  const Json& events = field(finding.payload, "events");
  if (events.is_array()) {
    for (const Json& event : events) {
      if (event.is_number_integer()) rests_on.push_back(event.get<std::int64_t>());
    }
  }
  const std::string statement = text(finding.payload, "statement");
  // The statement may name its problem itself.
  const bool names_it = !problem.empty() && statement.find(problem) != std::string::npos;
  return fmt::format(
      "- {}{}: {}{}{}\n", inline_text(text(finding.payload, "analysis"), 40),
      problem.empty() || names_it ? "" : ", " + inline_text(facts.title(problem), 60),
      brief(facts.words(statement), 400), cite(finding.seq),
      rests_on.empty() ? "" : ", from" + cite(rests_on));
}

void add_stand(Table& table, const Facts& facts, const std::string& problem, const Stand& stand) {
  const std::string title = inline_text(facts.title(problem), 60);
  std::vector<std::int64_t> events;
  for (const Fact* fact : {stand.regime, stand.share}) {
    if (fact != nullptr) events.push_back(fact->seq);
  }
  if (facts.hide_held_out && facts.is_held_out(problem)) {
    table.row({title, "", "", "", "", "shown once the session is closed" + cite(events)});
    return;
  }
  const Fact& any = stand.share != nullptr ? *stand.share : *stand.regime;
  const Json& share =
      stand.share != nullptr ? field(stand.share->payload, "figures") : field(any.payload, "none");
  const auto frac = number(share, "share_frac");
  const std::string bound = text(share, share.contains("peak") ? "peak" : "bound");
  const auto room = headroom_of(share);
  table.row(
      {title,
       stand.regime == nullptr
           ? "not said"
           : inline_text(text(field(stand.regime->payload, "figures"), "regime"), 40),
       microseconds(number(field(any.payload, "figures"), "time_us")),
       frac ? percent(frac) + (bound.empty() ? "" : " of " + inline_text(bound, 40)) : "not known",
       room ? fixed(*room, *room < 10 ? 1 : 0) + "x" : "not known", cite(events)});
}

/// Orders problems, named as in the findings, like the problem table.
std::vector<std::string> in_suite_order(const Facts& facts, std::vector<std::string> problems) {
  std::map<std::string, std::size_t> position;
  for (const SuiteEntry& entry : facts.suite) {
    position.emplace(facts.title(entry.problem), position.size());
  }
  const auto place = [&](const std::string& problem) {
    const auto found = position.find(facts.title(problem));
    return found == position.end() ? position.size() : found->second;
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return problems;
}

/// The roofline findings of one plan; empty without any.
std::string stand_table(const Facts& facts, const std::vector<Fact>& findings,
                        const std::string& plan) {
  std::map<std::string, Stand> stands;
  std::vector<std::string> found;
  for (const Fact& finding : findings) {
    if (!goes_into_table(finding)) continue;
    const std::string problem = text(finding.payload, "problem");
    const bool is_regime = text(finding.payload, "analysis") == "regime";
    const bool is_here = plan_of(finding) == plan;
    if (is_here && !stands.contains(problem)) found.push_back(problem);
    // What bounds a problem is stated once, under the plan that showed it.
    if (is_here) (is_regime ? stands[problem].regime : stands[problem].share) = &finding;
  }
  for (const Fact& finding : findings) {
    const auto stand = stands.find(text(finding.payload, "problem"));
    const bool is_regime = text(finding.payload, "analysis") == "regime";
    if (stand != stands.end() && is_regime && goes_into_table(finding) &&
        stand->second.regime == nullptr) {
      stand->second.regime = &finding;
    }
  }
  const std::vector<std::string> order = in_suite_order(facts, found);
  if (order.empty()) return {};
  Table table({"problem", "bound by", "time us>", "share of the peak>", "room left>", "events"});
  for (std::size_t i = 0; i < std::min(order.size(), k_max_findings); ++i) {
    add_stand(table, facts, order[i], stands[order[i]]);
  }
  std::string out =
      fmt::format("Against the roofline, {}:\n\n", inline_text(facts.plan_label(plan), 40)) +
      table.str() + "\n";
  if (order.size() > k_max_findings) {
    out += fmt::format("{} more problems are in the log.\n\n", order.size() - k_max_findings);
  }
  return out;
}

}  // namespace

std::string finding_tables(const Facts& facts, const std::vector<Fact>& findings,
                           const std::vector<std::string>& plans) {
  std::string out, lines;
  std::size_t shown = 0, left_out = 0;
  for (const std::string& plan : plans) out += stand_table(facts, findings, plan);
  out += launch_table(facts, findings) + demand_table(facts, findings);
  for (const Fact& finding : findings) {
    const std::string plan = plan_of(finding);
    const bool is_asked =
        plan.empty() || std::find(plans.begin(), plans.end(), plan) != plans.end();
    if (!is_asked || (!plan.empty() && goes_into_table(finding))) continue;
    if (is_in_demand_tables(finding)) continue;
    if (shown++ < k_max_lines)
      lines += finding_line(facts, finding);
    else
      ++left_out;
  }
  if (left_out > 0) lines += fmt::format("- {} more are in the log\n", left_out);
  return out + (lines.empty() ? lines : lines + "\n");
}

std::vector<std::string> unseen_lines(const std::vector<Fact>& findings) {
  std::vector<std::string> result;
  std::set<std::string> seen;  // to print equal texts once
  for (const Fact& finding : findings) {
    const std::string unseen = text(finding.payload, "unseen");
    if (unseen.empty() || !seen.insert(unseen).second) continue;
    result.push_back(inline_text(text(finding.payload, "analysis") + ": " + unseen, 300) +
                     cite(finding.seq));
  }
  return result;
}

std::string findings_section(const Page& page) {
  const Facts& facts = page.facts;
  std::string out = "## Findings on the incumbent\n\n";
  if (facts.holder == nullptr || facts.holder->findings.empty()) {
    return out + "None was recorded.\n\n";
  }
  out += finding_tables(facts, facts.holder->findings, {facts.plan});
  const bool is_baseline = facts.holder == facts.baseline;
  if (!is_baseline && facts.baseline != nullptr) {
    out += demand_table(facts, facts.baseline->findings);  // stated once, because it holds for all
  }
  const auto elsewhere = std::count_if(
      facts.holder->findings.begin(), facts.holder->findings.end(), [&](const Fact& finding) {
        return !plan_of(finding).empty() && plan_of(finding) != facts.plan &&
               !is_in_demand_tables(finding);
      });
  if (elsewhere > 0) {
    out += fmt::format("{} under other plans on the page of iteration {}.\n\n",
                       count(elsewhere, "finding"), facts.holder->number);
  }
  return out;
}

}  // namespace wb::report
