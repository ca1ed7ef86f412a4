// SPDX-License-Identifier: MIT
// What was judged, how closely, and how much of the error budget it used. Outputs are held to a
// budget; nothing here may be read as equality bit by bit.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/sections.hpp"

namespace wb::page {
namespace {

constexpr std::size_t k_max_rows = 80;

/// All verdicts of one subject in one iteration.
struct Summary {
  std::int64_t suite_passed = 0, other_passed = 0, failed = 0, runs = 0, lse_runs = 0;
  std::int64_t blocks_judged = 0, blocks_total = 0;
  double worst_share = -1;
  std::string worst_where;
  std::int64_t worst_seq = 0;
  std::string failure;
  std::vector<std::int64_t> events;
};

void add_verdict(Summary& summary, const Facts& facts, const Fact& verdict, bool hide) {
  summary.events.push_back(verdict.seq);
  const std::string problem = text(verdict.payload, "problem");
  if (is_true(verdict.payload, "pass")) {
    const bool in_suite =
        std::any_of(facts.suite.begin(), facts.suite.end(),
                    [&](const SuiteEntry& entry) { return entry.problem == problem; });
    ++(in_suite ? summary.suite_passed : summary.other_passed);
  } else {
    ++summary.failed;
    if (summary.failure.empty()) {
      summary.failure = text(verdict.payload, "outcome") + ": " + text(verdict.payload, "message");
    }
  }
  const Json& runs = field(verdict.payload, "runs");
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
      const bool secret = hide && facts.is_held_out(problem);
      summary.worst_where = secret
                                ? facts.title(problem)
                                : facts.title(problem) + ", " + text(field(run, "worst"), "rule");
    }
  }
}

std::string share_cell(const Summary& summary) {
  if (summary.worst_share < 0) return "not recorded";
  return fmt::format("{} ({}){}", percent(summary.worst_share),
                     inline_text(summary.worst_where, 100), cite(summary.worst_seq));
}

std::string blocks_cell(const Summary& summary) {
  if (summary.blocks_total <= 0) return "not recorded";
  return fmt::format("{} of {}", summary.blocks_judged, summary.blocks_total);
}

std::vector<std::string> cells(const std::string& iteration, const std::string& subject,
                               const Summary& summary) {
  std::string result =
      summary.failed == 0 ? "pass" : "**fail** (" + inline_text(summary.failure, 120) + ")";
  return {iteration,
          code(subject, 60),
          result,
          fmt::format("{} + {}", summary.suite_passed, summary.other_passed),
          fmt::format("{}", summary.failed),
          fmt::format("{} ({} with LSE)", summary.runs, summary.lse_runs),
          blocks_cell(summary),
          share_cell(summary),
          cite(summary.events)};
}

std::vector<std::string> header() {
  return {"#>",      "subject", "verdict",        "problems passed: suite + others>",
          "failed>", "runs>",   "blocks judged>", "worst share of the error budget",
          "events"};
}

std::map<std::string, Summary> summaries(const Facts& facts, const IterationView& iteration,
                                         bool hide) {
  std::map<std::string, Summary> result;
  for (const Fact& verdict : iteration.verdicts) {
    add_verdict(result[text(verdict.payload, "subject")], facts, verdict, hide);
  }
  return result;
}

constexpr const char* k_legend =
    "Outputs are compared with a float64 reference, block by block, and must stay within an error "
    "budget (100 % is the limit); they are not expected to equal it or any other implementation "
    "bit "
    "by bit. Where fewer blocks than all were judged, the rest were only scanned for non-finite "
    "and "
    "unwritten elements.\n\n";

}  // namespace

std::string verdict_table(const Facts& facts, const IterationView& iteration) {
  if (iteration.verdicts.empty()) return "Not judged.\n\n";
  Table table(header());
  for (const auto& [subject, summary] : summaries(facts, iteration, true)) {
    table.row(cells(fmt::format("{}", iteration.number), subject, summary));
  }
  return table.str() + "\n" + k_legend;
}

std::string correctness_section(const Page& page) {
  const Facts& facts = page.facts;
  Table table(header());
  std::int64_t subjects = 0, failed = 0;
  std::size_t left_out = 0, shown = 0;
  const std::size_t total = facts.view.iterations.size();
  for (std::size_t i = 0; i < total; ++i) {
    const IterationView& iteration = facts.view.iterations[i];
    for (const auto& [subject, summary] : summaries(facts, iteration, facts.hide_held_out)) {
      ++subjects;
      if (summary.failed > 0) ++failed;
      const bool matters =
          &iteration == facts.baseline || &iteration == facts.holder || i + k_max_rows / 2 >= total;
      if (!matters || shown >= k_max_rows) {
        ++left_out;
        continue;
      }
      ++shown;
      table.row(cells(fmt::format("{}", iteration.number), subject, summary));
    }
  }
  std::string out = "## Correctness\n\n";
  if (subjects == 0) return out + "Nothing was judged.\n\n";
  out += fmt::format("{} judged, {} failed. ", count(subjects, "subject"), failed) + k_legend;
  out += table.str() + "\n";
  if (left_out > 0) {
    out += fmt::format("{} of earlier iterations stand on their pages.\n\n",
                       count(static_cast<std::int64_t>(left_out), "row"));
  }
  return out;
}

}  // namespace wb::page
