// SPDX-License-Identifier: MIT
// What was tried: one row an iteration, then the hypotheses by their state, so that nobody tries a
// refuted one again and everybody sees what an undecided one still lacks.
#include <fmt/format.h>

#include <algorithm>

#include "report/sections.hpp"

namespace wb::page {
namespace {

constexpr std::size_t k_max_rows = 60;
constexpr std::size_t k_max_hypotheses = 30;

std::string commit_cell(const IterationView& iteration) {
  if (!iteration.committed) return iteration.closed ? "not committed" : "";
  const std::string oid = text(iteration.committed->payload, "oid");
  return code(oid.substr(0, 10), 40) + cite(iteration.committed->seq);
}

std::string measured_cell(const Facts& facts, const IterationView& iteration) {
  const ComparisonIndex index(iteration);
  if (const Compared* figure = objective_figure(facts, index, facts.plan)) {
    return comparison_cell(*figure);
  }
  return "not measured";
}

std::string verdict_cell(const Facts& facts, const IterationView& iteration) {
  std::int64_t passed = 0, failed = 0;
  std::vector<std::int64_t> failures, passes;
  for (const Fact& verdict : iteration.verdicts) {
    if (facts.is_rival(iteration, text(verdict.payload, "subject"))) continue;
    const bool pass = is_true(verdict.payload, "pass");
    ++(pass ? passed : failed);
    (pass ? passes : failures).push_back(verdict.seq);
  }
  if (passed + failed == 0) return "not judged";
  return failed == 0 ? fmt::format("{} passed{}", passed, cite(passes))
                     : fmt::format("{} failed of {}{}", failed, passed + failed, cite(failures));
}

std::string outcome_cell(const IterationView& iteration) {
  std::string out(to_string(outcome_of(iteration)));
  const std::string invalidity = invalidity_of(iteration);
  if (!invalidity.empty()) out += " (" + inline_text(invalidity, 40) + ")";
  return out + (iteration.closed ? cite(iteration.closed->seq) : "");
}

void add_row(Table& table, const Facts& facts, const IterationView& iteration) {
  const Json& hypothesis = field(iteration.opened.payload, "hypothesis");
  const bool is_try = hypothesis.is_object();
  const auto predicted = number(hypothesis, "predicted_speedup");
  table.row({fmt::format("{}", iteration.number), code(candidate_label(iteration), 60),
             is_try ? inline_text(text(hypothesis, "theory"), 120) : "baseline",
             predicted ? speedup(predicted) + cite(iteration.opened.seq) : "",
             is_try ? measured_cell(facts, iteration) : "",
             iteration.hypothesis ? inline_text(text(iteration.hypothesis->payload, "state"), 40) +
                                        cite(iteration.hypothesis->seq)
                                  : (is_try ? "open" : ""),
             verdict_cell(facts, iteration), outcome_cell(iteration), commit_cell(iteration)});
}

/// What an undecided or open hypothesis lacks.
std::string lacking(const IterationView& iteration) {
  const std::string invalidity = invalidity_of(iteration);
  if (invalidity == "environment") {
    return "the machine failed, not the variant: repeat it";
  }
  if (!invalidity.empty()) {
    return "a valid measurement: it ended as " + inline_text(invalidity, 40) + " (" +
           inline_text(failure_message(iteration), 160) + ")";
  }
  switch (outcome_of(iteration)) {
    case IterationOutcome::abandoned:
      return "a measurement: it was abandoned" +
             (failure_message(iteration).empty()
                  ? std::string()
                  : " (" + inline_text(failure_message(iteration), 160) + ")");
    case IterationOutcome::open:
      return "its end: it is in flight";
    default:
      return "resolution: more fresh processes or rounds, until the interval lies on one side";
  }
}

std::string hypothesis_line(const Facts& facts, const IterationView& iteration, bool undecided) {
  const Json& hypothesis = field(iteration.opened.payload, "hypothesis");
  const auto predicted = number(hypothesis, "predicted_speedup");
  std::string theory = text(hypothesis, "theory");
  while (theory.ends_with('.') || theory.ends_with(' ')) theory.pop_back();
  std::string out =
      fmt::format("- iteration {}{}: {}. Predicted {}", iteration.number,
                  cite(iteration.opened.seq), inline_text(theory, 300), speedup(predicted));
  const std::string measured = measured_cell(facts, iteration);
  out += (measured == "not measured" ? "; " : "; measured ") + measured + ".";
  if (iteration.hypothesis) {
    const std::string reason = text(iteration.hypothesis->payload, "reason");
    if (!reason.empty()) {
      out += " Decided" + cite(iteration.hypothesis->seq) + ": " + inline_text(reason, 200) + ".";
    }
  }
  if (undecided) out += " Lacking: " + lacking(iteration) + ".";
  return out + "\n";
}

}  // namespace

std::string iterations_section(const Page& page) {
  const Facts& facts = page.facts;
  std::string out = "## Iterations\n\n";
  if (facts.view.iterations.empty()) return out + "None was opened.\n\n";
  Table table({"#>", "variant", "hypothesis", "predicted>", "measured over the incumbent then",
               "state", "verdicts", "outcome", "commit"});
  const std::size_t total = facts.view.iterations.size();
  const std::size_t skipped = total > k_max_rows ? total - k_max_rows : 0;
  for (std::size_t i = 0; i < total; ++i) {
    const IterationView& iteration = facts.view.iterations[i];
    // A long session shows its wins and its end.
    if (i >= skipped || outcome_of(iteration) == IterationOutcome::win)
      add_row(table, facts, iteration);
  }
  out += table.str();
  if (skipped > 0) {
    out +=
        fmt::format("\nOf the first {} only wins are shown; each has its page under iterations/.\n",
                    count(static_cast<std::int64_t>(skipped), "iteration"));
  }
  return out + "\n";
}

std::string hypotheses_section(const Page& page) {
  const Facts& facts = page.facts;
  std::vector<const IterationView*> supported, smaller, refuted, undecided;
  for (const IterationView* iteration : facts.tries) {
    const std::string state =
        iteration->hypothesis ? text(iteration->hypothesis->payload, "state") : "open";
    // A prediction can be refuted by a gain that is real but smaller: that idea did work.
    const bool won = outcome_of(*iteration) == IterationOutcome::win;
    (state == "supported" ? supported
     : state != "refuted" ? undecided
     : won                ? smaller
                          : refuted)
        .push_back(iteration);
  }
  std::string out = "## Hypotheses\n\n";
  if (facts.tries.empty()) return out + "None was stated.\n\n";
  const auto group = [&](const char* title, const std::vector<const IterationView*>& members,
                         bool is_undecided) {
    if (members.empty()) return;
    out += fmt::format("**{}: {}**\n\n", title, members.size());
    const std::size_t skipped =
        members.size() > k_max_hypotheses ? members.size() - k_max_hypotheses : 0;
    if (skipped > 0) out += fmt::format("- the first {} stand on their pages\n", skipped);
    for (std::size_t i = skipped; i < members.size(); ++i) {
      out += hypothesis_line(facts, *members[i], is_undecided);
    }
    out += "\n";
  };
  group("Supported", supported, false);
  group("Faster, but less than predicted", smaller, false);
  group("Refuted (do not try again on these problems without new evidence)", refuted, false);
  group("Undecided", undecided, true);
  return out;
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
  return fmt::format("- {}{}: {}{}{}\n", inline_text(text(finding.payload, "analysis"), 40),
                     problem.empty() ? "" : ", " + inline_text(facts.title(problem), 60),
                     inline_text(text(finding.payload, "statement"), 400), cite(finding.seq),
                     rests_on.empty() ? "" : ", from" + cite(rests_on));
}

std::string findings_section(const Page& page) {
  const Facts& facts = page.facts;
  std::string out = "## Findings on the incumbent\n\n";
  if (facts.holder == nullptr || facts.holder->findings.empty()) {
    return out + "None was recorded.\n\n";
  }
  // Findings under the other plans stand on the iteration's page.
  std::size_t shown = 0, left_out = 0;
  for (const Fact& finding : facts.holder->findings) {
    const std::string plan = text(field(finding.payload, "figures"), "plan");
    if ((!plan.empty() && plan != facts.plan) || shown >= k_max_rows) {
      ++left_out;
      continue;
    }
    ++shown;
    out += finding_line(facts, finding);
  }
  if (left_out > 0) {
    out += fmt::format("- {} more, on other plans, on the page of iteration {}\n", left_out,
                       facts.holder->number);
  }
  return out + "\n";
}

}  // namespace wb::page
