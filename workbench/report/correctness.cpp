// SPDX-License-Identifier: MIT
// What was judged, how closely, and how much of the error budget it used. Outputs are held to a
// budget; nothing in this section means bitwise equality.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "report/facts.hpp"
#include "report/iteration_parts.hpp"
#include "report/session_sections.hpp"

namespace wb::report {

using session::IterationView;

namespace {

constexpr std::size_t k_max_verdict_rows = 80;

/// All verdicts of one subject in one iteration.
struct Summary {
  std::int64_t suite_passed = 0, other_passed = 0, failed = 0, runs = 0, lse_runs = 0;
  std::int64_t refused = 0;  ///< runs that a rival refused; no failure
  std::int64_t blocks_judged = 0, blocks_total = 0;
  double worst_share = -1;
  std::string worst_problem, worst_rule;
  std::int64_t worst_seq = 0;
  std::string failure;
  std::vector<std::int64_t> events;
};

/// A drawn run has a problem of its own.
std::string problem_of(const Json& run, const std::string& of_verdict) {
  const std::string own = text(run, "problem");
  return own.empty() ? of_verdict : own;
}

/// Adds a verdict; `runs` are its runs, parsed once by the caller.
void add_verdict(Summary& summary, const Facts& facts, const session::Fact& verdict,
                 const Json& runs) {
  summary.events.push_back(verdict.seq);
  const std::string problem = text(verdict.payload, "problem");
  if (is_true(verdict.payload, "pass")) {
    const bool in_suite =
        std::any_of(facts.suite.begin(), facts.suite.end(),
                    [&](const SuiteEntry& entry) { return entry.problem == problem; });
    if (in_suite) ++summary.suite_passed;
    if (!in_suite) summary.other_passed += integer(verdict.payload, "drawn").value_or(1);
  } else if (facts.has_refused(text(verdict.payload, "subject"), problem)) {
    ++summary.refused;
  } else {
    ++summary.failed;
    if (summary.failure.empty()) {
      summary.failure = text(verdict.payload, "outcome") + ": " + text(verdict.payload, "message");
    }
  }
  if (!runs.is_array()) return;
  for (const Json& run : runs) {
    ++summary.runs;
    if (is_true(run, "lse_judged")) ++summary.lse_runs;
    summary.blocks_judged += integer(run, "blocks_judged").value_or(0);
    summary.blocks_total += integer(run, "blocks_total").value_or(0);
    const auto share = number(field(run, "worst"), "share");
    if (share && *share > summary.worst_share) {
      summary.worst_share = *share;
      summary.worst_seq = verdict.seq;
      summary.worst_problem = problem_of(run, problem);
      summary.worst_rule = text(field(run, "worst"), "rule");
    }
  }
}

/// The problem and rule with the largest error, "n6_S64, lse rule". For a held-out problem the rule
/// stays hidden with the shape.
std::string worst_where(const Facts& facts, const Summary& summary) {
  std::string out = inline_text(facts.title(summary.worst_problem), 60);
  const bool secret = facts.hide_held_out && facts.is_held_out(summary.worst_problem);
  if (!secret && !summary.worst_rule.empty()) {
    out += ", " + inline_text(summary.worst_rule, 40) + " rule";
  }
  return out;
}

std::string share_cell(const Facts& facts, const Summary& summary) {
  if (summary.worst_share < 0) return "not recorded";
  return fmt::format("{}{} on {}", percent(summary.worst_share), cite(summary.worst_seq),
                     worst_where(facts, summary));
}

std::string blocks_cell(const Summary& summary) {
  if (summary.blocks_total <= 0) return "not recorded";
  return fmt::format("{} of {}", summary.blocks_judged, summary.blocks_total);
}

std::vector<std::string> cells(const Facts& facts, const std::string& iteration,
                               const std::string& subject, const Summary& summary) {
  std::string result =
      summary.failed == 0 ? "pass" : "**fail** (" + brief(facts.words(summary.failure), 120) + ")";
  if (summary.refused > 0) {
    const bool any = summary.suite_passed + summary.other_passed + summary.failed > 0;
    result = any ? fmt::format("{}, {} not taken", result, summary.refused) : "not taken";
  }
  return {iteration,
          code(subject, 60),
          result,
          fmt::format("{} + {}", summary.suite_passed, summary.other_passed),
          fmt::format("{}", summary.failed),
          fmt::format("{} ({} with LSE)", summary.runs, summary.lse_runs),
          blocks_cell(summary),
          cite(summary.events),
          share_cell(facts, summary)};
}

std::vector<std::string> header() {
  return {"#>",    "subject",        "verdict", "problems passed: suite + others>", "failed>",
          "runs>", "blocks judged>", "events",  "closest to the error budget"};
}

std::map<std::string, Summary> summaries(const Facts& facts, const IterationView& iteration) {
  std::map<std::string, Summary> result;
  for (const session::VerdictFact& verdict : iteration.verdicts) {
    add_verdict(result[text(verdict.payload, "subject")], facts, verdict, verdict.runs());
  }
  return result;
}

/// All verdicts of the session together: what they rest on and which came closest to failing.
struct Extent {
  std::int64_t verdicts = 0, passed = 0, runs = 0, elements = 0;
  std::set<std::string> problems;
  std::set<std::int64_t> seeds;
  std::map<std::string, std::int64_t> draws;  ///< runs by how their inputs were drawn
  std::vector<std::int64_t> events;
  bool elements_known = true;
};

void add_verdict(Extent& extent, std::map<std::string, std::optional<std::int64_t>>& sizes,
                 const session::Fact& verdict, const Json& runs) {
  ++extent.verdicts;
  if (is_true(verdict.payload, "pass")) ++extent.passed;
  extent.events.push_back(verdict.seq);
  const std::string problem = text(verdict.payload, "problem");
  if (!runs.is_array()) extent.problems.insert(problem);
  if (!runs.is_array()) return;
  for (const Json& run : runs) {
    const std::string of_run = problem_of(run, problem);
    extent.problems.insert(of_run);
    const auto [size, is_new] = sizes.try_emplace(of_run);
    if (is_new) size->second = output_elements(of_run);
    ++extent.runs;
    if (const auto seed = integer(run, "seed")) extent.seeds.insert(*seed);
    if (const std::string draw = text(run, "draw"); !draw.empty()) ++extent.draws[draw];
    extent.elements_known = extent.elements_known && size->second;
    extent.elements += size->second.value_or(0);
  }
  if (runs.empty()) extent.problems.insert(problem);
}

/// Every verdict of the session, each read once.
struct SessionVerdicts {
  Extent extent;
  /// In the view's order, by subject; what was judged outside iterations comes last.
  std::vector<std::map<std::string, Summary>> iterations;
};

std::vector<const IterationView*> judged_parts(const session::SessionView& view) {
  std::vector<const IterationView*> parts;
  for (const IterationView& iteration : view.iterations) parts.push_back(&iteration);
  parts.push_back(&view.outside);
  return parts;
}

SessionVerdicts read_verdicts(const Facts& facts) {
  SessionVerdicts verdicts;
  std::map<std::string, std::optional<std::int64_t>> sizes;
  for (const IterationView* part : judged_parts(facts.view)) {
    std::map<std::string, Summary>& summaries = verdicts.iterations.emplace_back();
    for (const session::VerdictFact& verdict : part->verdicts) {
      const Json runs = verdict.runs();
      if (!facts.has_refused(text(verdict.payload, "subject"), text(verdict.payload, "problem"))) {
        add_verdict(verdicts.extent, sizes, verdict, runs);
      }
      add_verdict(summaries[text(verdict.payload, "subject")], facts, verdict, runs);
    }
  }
  return verdicts;
}

std::string extent_sentence(const Facts& facts, const SessionVerdicts& verdicts) {
  const Extent& extent = verdicts.extent;
  const Summary* closest = nullptr;
  std::string closest_subject;
  for (const auto& summaries : verdicts.iterations) {
    for (const auto& [subject, summary] : summaries) {
      if (summary.failed > 0 || summary.worst_share < 0) continue;
      if (closest != nullptr && !(summary.worst_share > closest->worst_share)) continue;
      closest = &summary;
      closest_subject = subject;
    }
  }
  std::string draws;
  for (const auto& [draw, n] : extent.draws) {
    draws += fmt::format("{}{} {}", draws.empty() ? " (" : ", ", n, inline_text(draw, 40));
  }
  if (!draws.empty()) draws += " draws)";
  std::string out = fmt::format(
      "{} of {} passed, on {}{}: {}{} with {}", extent.passed, count(extent.verdicts, "verdict"),
      count(static_cast<std::int64_t>(extent.problems.size()), "problem"), cite(extent.events),
      count(extent.runs, "judged run"), draws,
      count(static_cast<std::int64_t>(extent.seeds.size()), "different seed"));
  if (extent.elements_known && extent.elements > 0) {
    const auto elements = static_cast<double>(extent.elements);
    out += elements < 1e6 ? fmt::format(", {} output elements", extent.elements)
                          : fmt::format(", {} million output elements", fixed(elements / 1e6, 2));
  }
  out += ". ";
  if (closest != nullptr) {
    out += fmt::format(
        "Of what passed, {} came closest to its limit: {} of the error budget{} on "
        "{}.",
        code(closest_subject, 60), percent(closest->worst_share), cite(closest->worst_seq),
        worst_where(facts, *closest));
  }
  return out + "\n\n";
}

constexpr const char* k_legend =
    "Outputs are compared with a float64 reference, block by block, and must stay within an error "
    "budget (100 % is the limit); they are not expected to equal it or any other implementation "
    "bit by bit. Where fewer blocks than all were judged, the rest were only scanned for "
    "non-finite "
    "and unwritten elements.\n\n";

}  // namespace

std::string verdict_table(const Facts& facts, const IterationView& iteration) {
  if (iteration.verdicts.empty()) return "Not judged.\n\n";
  Table table(header());
  for (const auto& [subject, summary] : summaries(facts, iteration)) {
    table.row(cells(facts, fmt::format("{}", iteration.number), subject, summary));
  }
  return table.str() + "\n" + k_legend;
}

std::string correctness_section(const Page& page) {
  const Facts& facts = page.facts;
  const SessionVerdicts verdicts = read_verdicts(facts);
  Table table(header());
  std::int64_t subjects = 0, failed = 0;
  std::size_t left_out = 0, shown = 0;
  const std::vector<const IterationView*> parts = judged_parts(facts.view);
  const std::size_t total = parts.size();
  for (std::size_t i = 0; i < total; ++i) {
    const IterationView& iteration = *parts[i];
    const bool is_outside = &iteration == &facts.view.outside;
    for (const auto& [subject, summary] : verdicts.iterations[i]) {
      ++subjects;
      if (summary.failed > 0) ++failed;
      const bool matters = is_outside || &iteration == facts.baseline ||
                           &iteration == facts.holder || i + k_max_verdict_rows / 2 >= total;
      if (!matters || shown >= k_max_verdict_rows) {
        ++left_out;
        continue;
      }
      ++shown;
      table.row(
          cells(facts, is_outside ? "-" : fmt::format("{}", iteration.number), subject, summary));
    }
  }
  std::string out = "## Correctness\n\n";
  if (subjects == 0) return out + "Nothing was judged.\n\n";
  out += fmt::format("{} judged, {} failed. ", count(subjects, "subject"), failed) +
         extent_sentence(facts, verdicts) + k_legend;
  out += table.str() + "\n";
  if (left_out > 0) {
    out += fmt::format("{} of earlier iterations stand on their pages.\n\n",
                       count(static_cast<std::int64_t>(left_out), "row"));
  }
  return out;
}

}  // namespace wb::report
