// SPDX-License-Identifier: MIT
// `report --kind iteration`: one iteration for a reader who did not follow it: its page, what
// today's analyses say about its measurements, the state of the loop, and what comes next. Unlike
// the committed page it may contain what is known only later.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/analysis.hpp"
#include "core/json.hpp"
#include "report/evidence.hpp"
#include "report/findings.hpp"
#include "report/fixes.hpp"
#include "report/handover_sections.hpp"
#include "report/report.hpp"

namespace wb::report {

using session::IterationView;

namespace {

std::string times_line(const Facts& facts, const IterationView& iteration) {
  const auto took =
      iteration.closed ? seconds_between(iteration.opened.t, iteration.closed->t) : std::nullopt;
  std::string status(to_string(outcome_of(iteration)));
  return fmt::format("Date: {}. Took: {}. Status: {}{}. Objective: {} faster, plan {}.\n\n",
                     plain(iteration.opened.t.substr(0, 10)),
                     took ? duration(*took) : std::string("in flight"), status,
                     iteration.closed ? cite(iteration.closed->seq) : "", code(facts.start, 60),
                     inline_text(facts.plan_label(facts.plan), 40));
}

std::string seen(const Facts& facts, const session::SessionView& view,
                 const IterationView& iteration) {
  std::vector<session::Fact> findings;
  for (const measure::Finding& finding :
       analyze::analyze(iteration_evidence(view, iteration).evidence)) {
    findings.push_back({finding.events.empty() ? 0 : finding.events.front(), "", to_json(finding)});
  }
  const std::string tables = finding_tables(facts, findings, facts.plans);
  std::string out = "## What its measurements say\n\n";
  if (tables.empty()) return out + "Nothing: it has no times under the objective's plan.\n\n";
  out += tables;
  std::string unseen;
  for (const std::string& line : unseen_lines(findings)) unseen += "- not seen: " + line + "\n";
  return out + unseen + (unseen.empty() ? "" : "\n") +
         fmt::format("`sdpa-wb diagnose --iteration {}` holds the known causes against them.\n\n",
                     iteration.number);
}

/// The lines that it changed, if it won and the sources are at hand.
std::string changed_section(const Page& page, const IterationView& iteration,
                            const PageSources* sources) {
  const bool is_win = std::find(page.facts.wins.begin(), page.facts.wins.end(), &iteration) !=
                      page.facts.wins.end();
  if (sources == nullptr || !is_win) return {};
  return "## What it changed\n\n" + changed_place(page.facts.view, iteration, &sources->changes) +
         ".\n\n";
}

constexpr std::size_t k_last_shown = 8;

/// The last iterations with their outcomes; this one is always there, and marked.
std::string loop_status(const Facts& facts, const IterationView& current) {
  Table table({"#>", "variant", "outcome", "predicted>", "measured>", ""});
  const std::size_t all = facts.view.iterations.size();
  for (std::size_t i = 0; i < all; ++i) {
    const IterationView& one = facts.view.iterations[i];
    if (i + k_last_shown < all && one.number != current.number) continue;
    const Json& hypothesis = field(one.opened.payload, "hypothesis");
    const ComparisonIndex index(one);
    const Compared* figure =
        hypothesis.is_object() ? objective_figure(facts, index, facts.plan) : nullptr;
    table.row({fmt::format("{}", one.number), code(candidate_label(one), 60),
               std::string(to_string(outcome_of(one))) + (one.closed ? cite(one.closed->seq) : ""),
               hypothesis.is_object()
                   ? speedup(number(hypothesis, "predicted_speedup")) + cite(one.opened.seq)
                   : std::string("-"),
               figure == nullptr ? std::string("-") : speedup(figure->ratio) + cite(figure->seq),
               one.number == current.number ? "this one" : ""});
  }
  return "## Where the loop stands\n\n" + table.str() + "\n";
}

}  // namespace
}  // namespace wb::report

namespace wb::report {

std::string render_iteration_report(const session::SessionView& view,
                                    const IterationView& iteration, const PageSources* sources) {
  const Page page(view);
  Facts facts(view);
  facts.hide_held_out = view.status != session::SessionStatus::closed;
  std::string out = render_iteration(view, iteration);
  // Date and status stand below the title.
  out.insert(out.find("\n\n") + 2, times_line(facts, iteration));
  const std::size_t foot = out.rfind("\n---\n");
  const std::string end = out.substr(foot);
  return out.substr(0, foot) + "\n" + changed_section(page, iteration, sources) +
         seen(facts, view, iteration) + loop_status(facts, iteration) +
         next_iteration_section(page) + end.substr(1);
}

}  // namespace wb::report
