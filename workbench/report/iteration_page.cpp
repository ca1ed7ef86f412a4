// SPDX-License-Identifier: MIT
// iterations/NNNN.md and NNNN.json. iteration_closed hashes both, so they contain nothing that is
// known only after it (commit oid, event ids of the closing), and keep held-out shapes hidden.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "measure/prediction.hpp"
#include "report/findings.hpp"
#include "report/iteration_parts.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"

namespace wb::report {

using session::Fact;
using session::IterationView;

namespace {

constexpr std::size_t k_max_listed = 40;

std::string page_title(const IterationView& iteration, const std::string& session) {
  return fmt::format("# Iteration {} of session {}\n\n", iteration.number,
                     session.empty() ? "without a name" : inline_text(session, 80));
}

std::string summary_lines(const Facts& facts, const IterationView& iteration,
                          const ComparisonIndex& index) {
  const Json& opened = iteration.opened.payload;
  const Json& hypothesis = field(opened, "hypothesis");
  std::string out;
  const auto line = [&](const char* name, const std::string& words) {
    out += fmt::format("- **{}:** {}\n", name, words);
  };
  std::string outcome(to_string(outcome_of(iteration)));
  const std::string invalidity = invalidity_of(iteration);
  if (!invalidity.empty()) outcome += " (" + inline_text(invalidity, 40) + ")";
  line("Outcome", outcome);
  std::string variant = code(candidate_label(iteration), 80);
  const Fact* built = candidate_build(iteration);
  std::string configuration =
      configuration_text(field(built != nullptr ? built->payload : opened, "configuration"));
  if (!configuration.empty()) variant += " (" + code(configuration, 120) + ")";
  const std::string parent = text(opened, "parent");
  line("Variant",
       variant + (parent.empty() ? "" : ", from " + code(parent, 80)) + cite(iteration.opened.seq));
  // What the parent had already is no merit of this step.
  const bool tells_added = field(opened, "adds").is_array();
  std::string techniques;
  for (const std::string& word : strings(opened, tells_added ? "adds" : "techniques")) {
    if (!can_act(facts, word)) continue;
    techniques += (techniques.empty() ? "" : ", ") + inline_text(word, 60);
  }
  if (!techniques.empty()) line(tells_added ? "Techniques added" : "Techniques", techniques);
  if (!hypothesis.is_object()) return out + "\n";
  line("Hypothesis",
       inline_text(facts.words(text(hypothesis, "theory")), 1'000) + cite(iteration.opened.seq));
  const Compared* figure = objective_figure(facts, index, facts.plan);
  line("Predicted", speedup(number(hypothesis, "predicted_speedup")) + cite(iteration.opened.seq));
  line("Measured", (figure == nullptr ? std::string("not measured") : comparison_cell(*figure)) +
                       " (" + inline_text(facts.plan_label(facts.plan), 40) +
                       ", over the incumbent then)");
  if (const auto decided = session::decided_prediction(iteration)) {
    const bool is_undecided = decided->mechanism == measure::Mechanism::undecided;
    const bool is_denied = decided->mechanism == measure::Mechanism::not_confirmed;
    const std::string event = cite(iteration.hypothesis->seq);
    line("Mechanism",
         (is_denied ? "not confirmed" : std::string(to_string(decided->mechanism))) + ": " +
             brief(facts.words(is_undecided ? text(iteration.hypothesis->payload, "reason")
                                            : decided->mechanism_reason),
                   300) +
             event);
    line("Size of the gain",
         std::string(to_string(decided->size)) + ": " + brief(decided->size_reason, 300) + event);
  } else {
    line("Mechanism", "open");
    line("Size of the gain", "open");
  }
  if (iteration.incumbent_changed) {
    line("Incumbent", "now " + code(text(iteration.incumbent_changed->payload, "to"), 80) +
                          ", was " + code(text(iteration.incumbent_changed->payload, "from"), 80) +
                          cite(iteration.incumbent_changed->seq));
  } else {
    line("Incumbent", "unchanged");
  }
  return out + "\n";
}

std::string failure_section(const IterationView& iteration) {
  const IterationOutcome outcome = outcome_of(iteration);
  if (outcome != IterationOutcome::invalid && outcome != IterationOutcome::abandoned) return {};
  const std::string message = failure_message(iteration);
  return "## Why it ended\n\n" +
         (message.empty() ? "No message was recorded.\n" : fenced(message)) + "\n";
}

std::string build_section(const IterationView& iteration) {
  std::string out = "## Build\n\n";
  if (iteration.built.empty()) return out + "Nothing was built.\n\n";
  Table table({"subject", "configuration", "outcome", "cached", "CPU s>", "wall s>", "event"});
  std::string messages;
  for (std::size_t i = 0; i < std::min(iteration.built.size(), k_max_listed); ++i) {
    const Fact& built = iteration.built[i];
    const auto seconds = [&](const char* key) {
      const auto value = number(built.payload, key);
      return value ? fixed(*value, 2) : std::string("not recorded");
    };
    const std::string outcome = text(built.payload, "outcome");
    const std::string configuration = configuration_text(field(built.payload, "configuration"));
    table.row({code(text(built.payload, "subject"), 80), code(configuration, 120),
               inline_text(outcome, 40), is_true(built.payload, "cached") ? "yes" : "no",
               seconds("cpu_s"), seconds("wall_s"), ref(built.seq)});
    const std::string message = text(built.payload, "message");
    if (outcome == "built" || message.empty()) continue;
    const std::string blob = text(built.payload, "log_blob");
    messages += fmt::format("The builder's words{}{}:\n\n{}\n", cite(built.seq),
                            blob.empty() ? "" : " (whole log: blobs/" + plain(blob, 64) + ")",
                            fenced(message));
  }
  if (iteration.built.size() > k_max_listed) {
    messages +=
        fmt::format("{} more builds are in the log.\n\n", iteration.built.size() - k_max_listed);
  }
  return out + table.str() + "\n" + messages + ptxas_table(iteration);
}

/// A tool's output for one call. Older logs name no tool: it was the profiler.
std::string tool_line(const Facts& facts, const Fact& fact) {
  const std::string named = text(fact.payload, "tool");
  if (named == k_kernel_names_tool) return kernel_names_line(facts, fact);
  const bool is_profile = named.empty() || named == "ncu";
  const std::string tool = inline_text(named, 20);
  if (!is_true(fact.payload, "available")) {
    return (is_profile ? "- no profile: " : "- no answer of " + tool + ": ") +
           inline_text(text(fact.payload, "reason"), 200) + cite(fact.seq) + "\n";
  }
  if (is_profile) return "- profile taken" + cite(fact.seq) + "\n";
  const Json& records = field(fact.payload, "records");
  const std::string found =
      is_true(records, "clean")
          ? "clean"
          : fmt::format("{} errors, {} warnings", integer(records, "errors").value_or(0),
                        integer(records, "warnings").value_or(0));
  return "- " + tool + ": " + found + cite(fact.seq) + "\n";
}

std::string findings_part(const Facts& facts, const IterationView& iteration) {
  std::string out = finding_tables(facts, iteration.findings, facts.plans), lines;
  for (const Fact& profile : iteration.profiles) lines += tool_line(facts, profile);
  for (const Fact& note : iteration.notes) {
    lines += "- note: " + inline_text(text(note.payload, "text"), 400) + cite(note.seq) + "\n";
  }
  for (const std::string& unseen : unseen_lines(iteration.findings)) {
    lines += "- not seen: " + unseen + "\n";
  }
  out += lines.empty() ? lines : lines + "\n";
  return "## Findings\n\n" + (out.empty() ? "None was recorded.\n\n" : out);
}

Json with_event(const Fact& fact) {
  Json json = fact.payload.is_object() ? fact.payload : Json::object();
  json["event"] = fact.seq;
  return json;
}

Json with_events(const std::vector<Fact>& facts) {
  Json list = Json::array();
  for (const Fact& fact : facts) list.push_back(with_event(fact));
  return list;
}

Json with_events(const std::vector<session::VerdictFact>& verdicts) {
  Json list = Json::array();
  for (const session::VerdictFact& verdict : verdicts) list.push_back(with_event(verdict.whole()));
  return list;
}

/// Replaces the text of held-out problems in every field that holds it.
void hide_held_out(Json& list, const Facts& facts) {
  for (Json& item : list) {
    const std::string problem = text(item, "problem");
    if (!facts.is_held_out(problem)) continue;
    item["problem"] = facts.title(problem);
    for (const char* key : {"statement", "figures", "runs", "message"}) item.erase(key);
  }
}

}  // namespace
std::string render_iteration(const session::SessionView& view, const IterationView& iteration) {
  Facts facts(view);
  facts.hide_held_out = true;
  const ComparisonIndex index(iteration);
  std::string out = page_title(iteration, text(view.opened.payload, "session"));
  out += summary_lines(facts, iteration, index);
  out += failure_section(iteration);
  out += build_section(iteration);
  out += "## Verdicts\n\n" + verdict_table(facts, iteration);
  out += evaluation_section(iteration);
  const bool is_baseline = &iteration == facts.baseline || iteration.number == 0;
  const std::string tables = comparison_tables(facts, index, is_baseline ? "start" : "candidate");
  out +=
      "## Comparisons\n\n" + (tables.empty() ? std::string("Nothing was compared.\n\n") : tables);
  if (!iteration.turns.empty()) out += "Turns with all samples:" + cite(iteration.turns) + ".\n\n";
  out += findings_part(facts, iteration);
  out += "## Cost\n\n" + iteration_cost(iteration);
  return out +
         "\n---\n\nThe shapes behind the problems' names stand in reports/session.md. `sdpa-wb "
         "show "
         "eN` prints the event behind [eN], with all samples where it is a turn.\n";
}

Json iteration_json(const session::SessionView& view, const IterationView& iteration) {
  Facts facts(view);
  facts.hide_held_out = true;
  Json json{{"format", 1},
            {"session", text(view.opened.payload, "session")},
            {"iteration", iteration.number},
            {"outcome", outcome_word(iteration)},
            {"message", failure_message(iteration)},
            {"opened", with_event(iteration.opened)},
            {"built", with_events(iteration.built)},
            {"verdicts", with_events(iteration.verdicts)},
            {"evaluations", with_events(iteration.evaluations)},
            {"comparisons", with_events(iteration.comparisons)},
            {"findings", with_events(iteration.findings)},
            {"profiles", with_events(iteration.profiles)},
            {"notes", with_events(iteration.notes)},
            {"costs", with_events(iteration.costs)},
            {"ledger", to_json(iteration.ledger)},
            {"turns", iteration.turns}};
  const std::string invalidity = invalidity_of(iteration);
  json["invalidity"] = invalidity.empty() ? Json() : Json(invalidity);
  json["hypothesis"] = iteration.hypothesis ? with_event(*iteration.hypothesis) : Json();
  json["incumbent_changed"] =
      iteration.incumbent_changed ? with_event(*iteration.incumbent_changed) : Json();
  for (const char* list : {"verdicts", "comparisons", "findings", "profiles"}) {
    hide_held_out(json[list], facts);
  }
  return json;
}

}  // namespace wb::report
