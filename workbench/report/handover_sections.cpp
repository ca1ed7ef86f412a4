// SPDX-License-Identifier: MIT
#include "report/handover_sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "report/causes.hpp"
#include "report/fixes.hpp"
#include "report/summary.hpp"

namespace wb::report {

std::string short_section(const Page& page) {
  const std::vector<two_pages::Step> steps = two_pages::steps_ahead(page);
  return fmt::format(
      "## In short\n\n- **Result:** {}\n- **Lost:** {}\n- **Cause:** {}\n- **Next:** {}\n\n",
      two_pages::result_words(page), two_pages::lost_words(page),
      two_pages::reasons(page, {}).front(),
      steps.empty() ? "nothing that was measured asks for it." : steps.front().what + ".");
}

namespace {

/// The problem on which the first recommended variant gained most over the start.
const outcome::ProblemOutcome* most_gained(const Page& page) {
  const outcome::Group* group = page.conclusion.main_group();
  const std::vector<outcome::Part>& parts = page.conclusion.recommendation.parts;
  const outcome::ProblemOutcome* best = nullptr;
  double most = 1;
  if (group == nullptr || parts.empty()) return best;
  for (const std::size_t at : parts.front().problems) {
    const outcome::ProblemOutcome& problem = group->problems[at];
    const outcome::Standing* standing = problem.find(parts.front().variant);
    if (standing == nullptr || !standing->over_start || problem.hidden) continue;
    if (!(standing->over_start->speedup > most)) continue;
    most = standing->over_start->speedup;
    best = &problem;
  }
  return best;
}

/// The commands that show it again, each with what it should print.
std::string check_words(const Page& page) {
  const outcome::ProblemOutcome* problem = most_gained(page);
  if (problem == nullptr) return {};
  const std::string winner = plain(page.conclusion.recommendation.parts.front().variant, 60);
  const outcome::Standing& standing =
      *problem->find(page.conclusion.recommendation.parts.front().variant);
  return fmt::format(
      "To check it:\n\n- `sdpa-wb check {} --problem '{}'` should print `{}: pass`.\n"
      "- `sdpa-wb compare {} {} --problem '{}'` should say faster, about {}{}.\n\n",
      winner, plain(problem->problem, 200), winner, winner, plain(page.facts.start, 60),
      plain(problem->problem, 200), two_pages::bare_speedup(*standing.over_start),
      two_pages::cite_ends(standing.over_start->events));
}

}  // namespace

std::string cure_section(const Page& page, const PageSources* sources) {
  if (!advises_change(page)) return {};
  std::string out;
  if (sources != nullptr) out += loop_change(sources->start, sources->winner);
  std::string lines;
  for (const session::IterationView* win : page.facts.wins) {
    if (sources == nullptr) break;
    lines += fmt::format("- iteration {}: {}\n", win->number,
                         changed_place(page.facts.view, *win, &sources->changes));
  }
  if (!lines.empty()) out += "Lines that the wins changed:\n\n" + lines + "\n";
  out += check_words(page);
  return out.empty() ? out : "## Problem and cure\n\n" + out;
}

std::string next_steps_table(const Page& page) {
  constexpr std::size_t k_most = 6;
  const std::vector<two_pages::Step> steps = two_pages::steps_ahead(page);
  Table table({"step", "gain", "effort", "risk"});
  for (std::size_t i = 0; i < std::min(steps.size(), k_most); ++i) {
    table.row({steps[i].what, steps[i].gain, steps[i].effort, steps[i].risk});
  }
  return table.empty() ? "Nothing that was measured asks for a next step.\n\n" : table.str() + "\n";
}

// Section of a handover: evidence, interpretation and implication of each cause that is supported
// or was fixed, and the causes that were ruled out, so that nobody works on them.

namespace {

constexpr std::size_t k_most_insights = 6;

std::string evidence_of(const Facts& facts, const Json& cause) {
  const Json& list = field(cause, "evidence");
  if (!list.is_array() || list.empty()) return "none is kept";
  return evidence_sentence(&facts, list.front(), 400);
}

std::string remedies_of(const Json& cause) {
  std::string out;
  for (const std::string& word : strings(cause, "remedies")) {
    out += (out.empty() ? "" : ", ") + code(word, 40);
  }
  if (out.empty()) return "The catalogue has no technique left for it.";
  const std::string gain = gain_words(cause);
  return "What helps: " + out + (gain == "-" ? "" : "; " + gain + " over the suite") + ".";
}

std::string block(std::size_t n, const Facts& facts, const Json& cause, const std::string& heading,
                  const std::string& implication) {
  return fmt::format("### {}. {}\n\n- Evidence: {}\n- Interpretation: {}\n- Implication: {}\n\n", n,
                     heading, evidence_of(facts, cause), inline_text(text(cause, "theory"), 400),
                     implication);
}

bool is_still_supported(const std::vector<const Json*>& now, const Json& cause) {
  return std::any_of(now.begin(), now.end(),
                     [&](const Json* one) { return text(*one, "cause") == text(cause, "cause"); });
}

}  // namespace

std::string insights_section(const Page& page) {
  std::string out = "## Insights\n\n";
  if (!page.facts.view.causes) {
    return out + "None: no causes were decided in this log (`sdpa-wb diagnose` decides them).\n\n";
  }
  const Json& decided = page.facts.view.causes->payload;
  const auto supported = causes_of(decided, "supported");
  std::size_t n = 0;
  const auto add = [&](const Json& cause, const std::string& heading,
                       const std::string& implication) {
    if (++n <= k_most_insights) out += block(n, page.facts, cause, heading, implication);
  };
  for (const Json* cause : supported) {
    add(*cause, "It is held up by: " + inline_text(text(*cause, "title"), 100),
        inline_text(text(*cause, "prediction"), 400) + " " + remedies_of(*cause));
  }
  for (const Json* cause : causes_of(field(decided, "start"), "supported")) {
    if (is_still_supported(supported, *cause)) continue;
    add(*cause, "No longer held up by: " + inline_text(text(*cause, "title"), 100),
        "it was so at the start, and nothing supports it of the incumbent: what was done against "
        "it stays.");
  }
  if (n > k_most_insights) {
    out += fmt::format("{} more are in the report's Causes.\n\n", n - k_most_insights);
  }
  std::string others;
  for (const Json* cause : causes_of(decided, "refuted")) {
    others += fmt::format("- {}: {}\n", inline_text(text(*cause, "title"), 100),
                          evidence_of(page.facts, *cause));
  }
  if (!others.empty()) {
    out += "It is not (so work against these would gain nothing here):\n\n" + others + "\n";
  }
  return n == 0 && others.empty() ? out + "None: nothing in this log decides a cause.\n\n" : out;
}

namespace {

/// The roadmap's entry of a technique; null if it has none.
const Json& entry_of(const Json& roadmap, const std::string& technique) {
  static const Json k_none;
  for (const Json& entry : list_of(roadmap, "entries")) {
    if (text(entry, "technique") == technique) return entry;
  }
  return k_none;
}

std::string gain_range(const Json& row) {
  const auto low = number(row, "low"), expected = number(row, "expected"),
             high = number(row, "high");
  if (!low || !expected || !high) return "not known";
  return fmt::format("{} ({} to {})", speedup(*expected), speedup(*low), speedup(*high));
}

std::string no_roadmap(const Page& page) {
  return page.facts.view.roadmap ? "The catalogue has no technique left that speaks for itself.\n\n"
                                 : "This log holds no roadmap; `sdpa-wb advise` makes one.\n\n";
}

/// The commands from a copy of the incumbent to its outcome.
std::string steps_of(const Page& page, const Json& entry) {
  const std::string technique = plain(text(entry, "technique"), 40);
  const std::string from = plain(std::string(base_name(page.facts.view.incumbent)), 80);
  const auto expected = number(entry, "expected");
  return fmt::format(
      "1. `sdpa-wb new NAME --from {}`, then edit it: {}. For it: {}; against it: {}.\n"
      "2. `sdpa-wb check NAME --problem '{}'`: the verdict comes before any time.\n"
      "3. `sdpa-wb iterate --variant NAME --hypothesis '{}' --predicted-speedup {}` in the next "
      "session.\n"
      "4. Where it does not gain: `sdpa-wb diagnose --iteration N` says which cause it has that "
      "the incumbent has not.\n\n",
      from, inline_text(text(entry, "title"), 100), inline_text(text(entry, "pros"), 160),
      inline_text(text(entry, "cons"), 160), plain(example_problem(page), 200), technique,
      expected ? fixed(*expected, 2) : std::string("RATIO"));
}

/// The times now, and with the expected gain over the suite on every problem.
std::string before_and_after(const Page& page, double expected) {
  Table table({"problem", "now us>", "now GFLOP/s>", "then us>", "then GFLOP/s>"});
  if (page.facts.holder == nullptr) return "";
  for (const session::Fact& finding : page.facts.holder->findings) {
    const Json& figures = field(finding.payload, "figures");
    const bool is_ours = text(finding.payload, "analysis") == "roofline_share" &&
                         text(figures, "plan") == page.facts.plan;
    const auto time = number(figures, "time_us"), rate = number(figures, "achieved_flops_per_s");
    if (!is_ours || !time || !rate) continue;
    table.row({inline_text(page.facts.title(text(finding.payload, "problem")), 60),
               microseconds(*time) + cite(finding.seq), significant(*rate / 1e9, 4),
               microseconds(*time / expected), significant(*rate / 1e9 * expected, 4)});
  }
  if (table.empty()) return "Times before and after: the log has no rate of the incumbent.\n\n";
  return "If each problem gained as much as is expected of the suite's mean, which it need "
         "not:\n\n" +
         table.str() + "\n";
}

std::string estimate(const Json& roadmap) {
  const auto seconds = number(roadmap, "measuring_s"), usd = number(roadmap, "measuring_usd");
  return fmt::format("work {} (the catalogue's guesses); measuring {}, {}", hours_words(roadmap),
                     seconds ? duration(*seconds) : std::string("not known"),
                     usd ? fmt::format("${}{}", fixed(*usd, 2),
                                       list_mark(is_true(roadmap, "measuring_by_list_price")))
                         : std::string("money at a rate not given"));
}

}  // namespace

std::string next_iteration_section(const Page& page) {
  std::string out = "## Next iteration\n\n";
  const Json none;
  const Json& roadmap = page.facts.view.roadmap ? page.facts.view.roadmap->payload : none;
  const Json& stages = list_of(roadmap, "stages");
  const auto first =
      stages.empty() ? std::vector<std::string>() : strings(stages.front(), "techniques");
  const Json& entry = first.empty() ? none : entry_of(roadmap, first.front());
  if (!entry.is_object()) return out + no_roadmap(page);
  std::string causes;
  for (const std::string& cause : strings(entry, "causes")) {
    causes += (causes.empty() ? "; remedies " : ", ") + code(cause, 40);
  }
  out += fmt::format("- Target: {}, {}{}\n", code(text(entry, "technique"), 40), gain_range(entry),
                     cite(page.facts.view.roadmap->seq));
  out += fmt::format("- Why: {} ({} evidence){}\n", inline_text(text(entry, "why"), 200),
                     inline_text(text(entry, "strength"), 10), causes);
  out += fmt::format("- The range is from: {}\n", inline_text(text(entry, "source"), 300));
  out +=
      fmt::format("- Effort: {}, complexity {}, risk {}\n\n", hours_words(entry),
                  inline_text(text(entry, "complexity"), 10), inline_text(text(entry, "risk"), 10));
  out += steps_of(page, entry);
  const auto expected = number(entry, "expected");
  return out + (expected && *expected > 0 ? before_and_after(page, *expected) : std::string());
}

std::string next_session_section(const Page& page) {
  std::string out = "## Next session\n\n";
  const Json none;
  const Json& roadmap = page.facts.view.roadmap ? page.facts.view.roadmap->payload : none;
  const Json& stages = list_of(roadmap, "stages");
  if (stages.empty()) return out + no_roadmap(page);
  const auto target = number(roadmap, "target_ratio");
  const auto at = integer(roadmap, "reached_at_stage");
  out += fmt::format("- Objective: {} the fastest rival; {}\n", target ? speedup(*target) : "beat",
                     !at       ? std::string("by these stages it is not expected to be reached")
                     : *at < 1 ? std::string("it is reached already")
                               : fmt::format("expected at part {}", *at));
  out += fmt::format("- Estimate: {}{}\n", estimate(roadmap), cite(page.facts.view.roadmap->seq));
  out += fmt::format("- Open it: `sdpa-wb open --after {}`\n\n",
                     plain(text(page.facts.view.opened.payload, "session"), 80));
  std::int64_t part = 0, step = 0;
  for (const Json& stage : stages) {
    const auto rival = number(stage, "rival_expected");
    out += fmt::format("### Part {}: {} over the incumbent{}\n\n", ++part, gain_range(stage),
                       rival ? fmt::format(", {} the fastest rival", speedup(*rival)) : "");
    for (const std::string& technique : strings(stage, "techniques")) {
      const Json& entry = entry_of(roadmap, technique);
      out += fmt::format("{}. {}: {} ({}), alone {}\n", ++step, code(technique, 40),
                         inline_text(text(entry, "title"), 100), hours_words(entry),
                         gain_range(entry));
    }
    out += "\n";
  }
  return out + "Parts multiply, so their gains are upper ends where techniques overlap.\n\n";
}

}  // namespace wb::report
