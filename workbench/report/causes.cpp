// SPDX-License-Identifier: MIT
#include "report/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyze/analysis.hpp"
#include "analyze/evidence.hpp"
#include "core/json.hpp"
#include "measure/roofline.hpp"
#include "outcome/outcome.hpp"
#include "report/evidence.hpp"
#include "report/findings.hpp"
#include "report/report.hpp"

namespace wb::report {

using session::Fact;

namespace {

constexpr std::size_t k_statement_bytes = 300;

std::string joined(const std::vector<std::string>& words, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < std::min(words.size(), most); ++i) {
    out += (out.empty() ? "" : ", ") + code(words[i], 60);
  }
  if (words.size() > most) out += fmt::format(" and {} more", words.size() - most);
  return out;
}

std::vector<std::int64_t> events_in(const Json& row) {
  std::vector<std::int64_t> events;
  for (const Json& event : list_of(row, "events")) {
    if (event.is_number_integer()) events.push_back(event.get<std::int64_t>());
  }
  return events;
}

/// The first supporting evidence and, if equally strong evidence contradicts it, the first of that;
/// the others are counted.
std::string evidence_words(const Facts* facts, const Json& cause) {
  std::string out, last_says;
  auto more = integer(cause, "evidence_left_out").value_or(0);
  const bool is_contradictory = is_true(cause, "contradictory");
  for (const Json& one : list_of(cause, "evidence")) {
    const std::string says = text(one, "says") == "refuted" ? "against" : "for";
    if (!out.empty() && (!is_contradictory || says == last_says)) {
      ++more;
      continue;
    }
    last_says = says;
    out += fmt::format("{}{} ({}): {}", out.empty() ? "" : "; ", says,
                       inline_text(text(one, "strength"), 10),
                       evidence_sentence(facts, one, k_statement_bytes));
  }
  if (more > 0) out += fmt::format("; {} more", more);
  if (is_contradictory) out += "; evidence of one strength says both";
  return out.empty() ? "nothing seen that decides it" : out;
}

std::string state_words(const Json& cause) {
  const std::string state = inline_text(text(cause, "state"), 20);
  const std::string strength = text(cause, "strength");
  if (strength.empty()) return state;
  std::string out = fmt::format("{}, {}", state, inline_text(strength, 10));
  const auto share = number(cause, "share_frac");
  if (share && *share < 0.995) out += fmt::format(", on {:.0f} % of its problems", 100 * *share);
  const std::string groups = group_words(cause);
  return groups.empty() ? out : out + " (" + groups + ")";
}

std::string table_of(const Facts* facts, const std::vector<const Json*>& causes) {
  Table table({"cause", "state", "evidence", "gain of the best remedy>", "remedies"});
  std::string elsewhere;
  for (const Json* cause : causes) {
    if (!text(*cause, "not_applicable").empty()) {
      elsewhere += (elsewhere.empty() ? "" : ", ") + code(text(*cause, "cause"), 40);
      continue;
    }
    std::string what = fmt::format("{} ({})", inline_text(text(*cause, "title"), 80),
                                   code(text(*cause, "cause"), 40));
    const auto where = strings(*cause, "where");
    const auto share = number(*cause, "share_frac");
    if (!where.empty() && share && *share < 0.995) what += " on " + joined(where, 4);
    table.row({what, state_words(*cause), evidence_words(facts, *cause), gain_words(*cause),
               joined(strings(*cause, "remedies"), 4)});
  }
  if (!elsewhere.empty()) elsewhere = "Cannot be at work here: " + elsewhere + ".\n\n";
  return (table.empty() ? std::string() : table.str() + "\n") + elsewhere;
}

/// The command line "sdpa-wb measure VARIANT --problem '…' --plan eager"; the variant is
/// positional.
std::string command_of(const Json& need, const std::string& subject, const std::string& problem) {
  std::string positional, options;
  const Json& arguments = field(need, "arguments");
  if (arguments.is_object()) {
    for (const auto& [name, value] : arguments.items()) {
      std::string word = value.is_string() ? value.get<std::string>() : value.dump();
      const auto fill = [&word](std::string_view what, const std::string& with) {
        const std::size_t at = word.find(what);
        if (at != std::string::npos) word.replace(at, what.size(), with);
      };
      fill("{variant}", subject.empty() ? "VARIANT" : subject);
      fill("{problems}", "P1;P2");
      fill("{problem}", problem.empty() ? "P" : problem);
      if (name == "variant" || name == "id") {
        positional += " " + word;
      } else if (value == true) {
        options += " --" + name;
      } else {
        const bool has_spaces = word.find_first_of(" ;") != std::string::npos;
        options += fmt::format(" --{} {}", name, has_spaces ? "'" + word + "'" : word);
      }
    }
  }
  return fmt::format("sdpa-wb {}{}{}", text(need, "verb"), positional, options);
}

/// What decides an open cause, in logs from before one measurement was chosen: each of its needs.
std::string recorded_needs(const Json& cause, const std::string& subject,
                           const std::string& problem) {
  std::string ways;
  for (const Json& need : list_of(cause, "needs")) {
    ways += fmt::format("{}{} (`{}`{})", ways.empty() ? "" : "; or ",
                        inline_text(text(need, "brings"), 200),
                        plain(command_of(need, subject, problem), 300),
                        text(need, "probe").empty() ? "" : ", by `diagnose --measure`, too");
  }
  return ways;
}

}  // namespace

std::string group_words(const Json& cause) {
  std::string out;
  std::set<std::string> states;
  for (const Json& group : list_of(cause, "groups")) {
    const std::string state = text(group, "state");
    const auto all = strings(group, "problems").size();
    states.insert(state);
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", inline_text(text(group, "group"), 60),
                       inline_text(state, 20));
    if (state == "supported") {
      out += fmt::format(" on {} of {}", integer(group, "supported").value_or(0), all);
    }
  }
  return states.size() > 1 ? out : std::string();
}

std::string evidence_sentence(const Facts* facts, const Json& evidence, std::size_t max_bytes) {
  const std::string said = text(evidence, "statement"), by = text(evidence, "by");
  const std::string shared = text(evidence, "shared_with");
  return brief(facts != nullptr ? facts->words(said) : said, max_bytes) +
         (by.empty() ? by : " (" + inline_text(by, 160) + ")") +
         (shared.empty() ? shared : ", which shows " + code(shared, 40) + " rather than this") +
         cite(events_in(evidence));
}

std::vector<const Json*> causes_of(const Json& decided, std::string_view state) {
  std::vector<const Json*> causes;
  for (const Json& cause : list_of(decided, "causes")) {
    if (state.empty() || text(cause, "state") == state) causes.push_back(&cause);
  }
  return causes;
}

std::vector<const Json*> held_up_causes(const Json& decided) {
  const Json& start = field(decided, "start");
  std::vector<const Json*> removed;
  const auto before = causes_of(start, "supported"), now = causes_of(decided, "supported");
  const auto find = [](const std::vector<const Json*>& causes, const std::string& id) {
    return std::find_if(causes.begin(), causes.end(),
                        [&](const Json* one) { return text(*one, "cause") == id; });
  };
  if (field(start, "held_up_by").is_array()) {
    for (const std::string& id : strings(start, "held_up_by")) {
      const auto found = find(before, id);
      if (found != before.end()) removed.push_back(*found);
    }
    return removed;
  }
  for (const Json* cause : before) {
    if (find(now, text(*cause, "cause")) == now.end()) removed.push_back(cause);
  }
  return removed;
}

std::vector<Room> rooms_now(const Page& page) {
  const measure::Evidence evidence = log_evidence(page.facts.view).evidence;
  std::map<std::string, std::string> taken;  // by problem, where it is not the incumbent
  if (const outcome::Group* group = page.conclusion.main_group()) {
    const std::vector<std::string>& variants = group->by_problem.variants;
    for (std::size_t at = 0; at < std::min(variants.size(), group->problems.size()); ++at) {
      const outcome::ProblemOutcome& problem = group->problems[at];
      const std::string& variant = variants[at].empty() ? problem.best : variants[at];
      if (!variant.empty()) taken[page.facts.title(problem.problem)] = variant;
    }
  }
  std::vector<Room> rooms;
  std::set<std::string> told;
  const auto add = [&](Room room) {
    if (!told.insert(room.problem).second) return;
    if (room.factor >= 1 - measure::k_roofline_tolerance_frac) rooms.push_back(std::move(room));
  };
  // The stored manifests, which causes are decided with, tell of which units its products use.
  if (const auto& causes = page.facts.view.causes) {
    const std::string subject = text(causes->payload, "subject");
    for (const Json& found : list_of(causes->payload, "rooms")) {
      const std::string title = page.facts.title(text(found, "problem"));
      const auto best = taken.find(title);
      const auto ratio = number(found, "headroom_ratio");
      if (!ratio || (best != taken.end() && best->second != subject)) continue;
      std::vector<std::int64_t> events;
      for (const Json& event : list_of(found, "events")) {
        if (event.is_number_integer()) events.push_back(event.get<std::int64_t>());
      }
      add({title, *ratio, text(found, "bound"), std::move(events)});
    }
  }
  for (const measure::Observation& one : evidence.observations) {
    const std::string title = page.facts.title(problem::to_text(one.problem));
    const auto best = taken.find(title);
    const bool is_ours =
        one.subject == (best == taken.end() ? page.facts.view.incumbent : best->second) &&
        to_string(one.plan) == std::string_view(page.facts.plan);
    const auto bound = is_ours ? analyze::time_bound(evidence, one) : std::nullopt;
    if (!bound) continue;
    const double ratio = one.measurement.median_us / bound->us;
    add({title, bound->kind == "launch" ? std::max(ratio, 1.0) : ratio, bound->words, one.events});
  }
  // Where the log has no device or no time, what was found then.
  for (const Headroom& found : headroom(page)) {
    const Json& figures = field(found.finding->payload, "figures");
    const std::string words = text(figures, "bound_words"), kind = text(figures, "bound");
    add({page.facts.title(found.problem),
         found.factor,
         !words.empty()     ? words
         : kind == "launch" ? "an empty call"
         : kind == "memory" ? "the memory bandwidth"
                            : "the roofline",
         {found.finding->seq}});
  }
  std::stable_sort(rooms.begin(), rooms.end(),
                   [](const Room& a, const Room& b) { return a.factor > b.factor; });
  return rooms;
}

std::string gain_words(const Json& cause) {
  const Json& gain = field(cause, "gain");
  const auto low = number(gain, "low"), expected = number(gain, "expected"),
             high = number(gain, "high");
  if (!low || !expected || !high) return "-";
  return fmt::format("{} ({} to {})", speedup(*expected), speedup(*low), speedup(*high));
}

std::string causes_table(const Facts& facts, const std::vector<const Json*>& causes) {
  return table_of(&facts, causes);
}

std::string decided_by_words(const Json& cause, const std::string& subject,
                             const std::string& problem) {
  if (!cause.is_object() || !cause.contains("decided_by")) {
    return recorded_needs(cause, subject, problem);
  }
  const Json& by = field(cause, "decided_by");
  if (!by.is_object()) return "nothing that can be measured here";
  const std::string counter = text(by, "counter");
  return fmt::format("{} (`{}`{}{})", inline_text(text(by, "brings"), 200),
                     plain(text(by, "command"), 600),
                     counter.empty() ? "" : ", ncu's " + code(counter, 100),
                     text(by, "probe").empty() ? "" : "; in an open session `diagnose --measure`");
}

std::string needs_list(const std::vector<const Json*>& causes, const std::string& subject,
                       const std::string& problem) {
  std::string out;
  for (const Json* cause : causes) {
    if (!text(*cause, "not_applicable").empty()) continue;
    const std::string ways = decided_by_words(*cause, subject, problem);
    if (ways.empty()) continue;
    out += fmt::format("- {}: {}\n", inline_text(text(*cause, "title"), 80), ways);
  }
  return out.empty() ? out : out + "\n";
}

std::vector<Fact> findings_now(const session::SessionView& view) {
  std::vector<Fact> facts;
  for (const measure::Finding& finding : analyze::analyze(log_evidence(view).evidence)) {
    facts.push_back({finding.events.empty() ? 0 : finding.events.front(), "", to_json(finding)});
  }
  return facts;
}

std::string unseen_list(const session::SessionView& view, const std::vector<Fact>& findings) {
  std::string out;
  for (const std::string& line : unseen_lines(findings)) out += "- " + line + "\n";
  for (const std::string& gap : log_evidence(view).gaps) {
    out += "- " + inline_text(gap, 300) + "\n";
  }
  return (out.empty() ? "- nothing is known to be missing\n" : out) + "\n";
}

std::string example_problem(const Page& page, const std::vector<std::string>& where) {
  std::vector<const SuiteEntry*> among;
  for (const SuiteEntry& entry : page.facts.suite) {
    if (entry.held_out) continue;
    const std::string title = page.facts.title(entry.problem);
    const bool is_there = std::any_of(where.begin(), where.end(), [&](const std::string& name) {
      return page.facts.title(name) == title || page.facts.words(name) == title;
    });
    if (where.empty() || is_there) among.push_back(&entry);
  }
  if (among.empty()) return where.empty() ? std::string() : example_problem(page);
  std::vector<std::string> wanted;
  for (const auto& lost : outcome::losses_of(page.conclusion).to_rivals) {
    wanted.push_back(lost.problem);
  }
  for (const Room& room : rooms_now(page)) wanted.push_back(room.problem);
  for (const std::string& title : wanted) {
    for (const SuiteEntry* entry : among) {
      if (page.facts.title(entry->problem) == title) return entry->problem;
    }
  }
  return among.front()->problem;
}

std::string causes_section(const Page& page) {
  if (!page.facts.view.causes) return "";
  const Fact& decided = *page.facts.view.causes;
  std::string out = fmt::format(
      "## Causes\n\nWhy {} takes its time: known causes held against what was found{}. Gain: over "
      "the suite, the catalogue's range of the best remedy within the room that the roofline "
      "leaves; of an undecided cause, if it were so.\n\n",
      code(text(decided.payload, "subject"), 60), cite(decided.seq));
  const auto all = causes_of(decided.payload);
  if (all.empty()) return out + "The registry has no cause for this kind of session.\n\n";
  out += causes_table(page.facts, all);
  const std::string needs = needs_list(causes_of(decided.payload, "undecided"),
                                       text(decided.payload, "subject"), example_problem(page));
  if (!needs.empty()) out += "What would decide the undecided:\n\n" + needs;
  const Json& start = field(decided.payload, "start");
  const auto mended = causes_of(start, "supported");
  if (!mended.empty()) {
    out += fmt::format("Supported of the start {}:\n\n", code(text(start, "subject"), 60)) +
           causes_table(page.facts, mended);
  }
  return out;
}

}  // namespace wb::report

namespace wb::report {

std::string render_causes(const Json& decided) {
  std::string out;
  const std::string subject = text(decided, "subject");
  if (!subject.empty()) out += "Causes of " + code(subject, 60) + ":\n\n";
  out += table_of(nullptr, causes_of(decided));
  const std::string needs = needs_list(causes_of(decided, "undecided"), subject, "");
  if (!needs.empty()) out += "What would decide the undecided:\n\n" + needs;
  const Json& start = field(decided, "start");
  const auto mended = causes_of(start, "supported");
  if (!mended.empty()) {
    out += "Supported of the start " + code(text(start, "subject"), 60) + ":\n\n" +
           table_of(nullptr, mended);
  }
  for (const Json& one : list_of(decided, "siblings")) {
    out += "siblings: " + inline_text(text(one, "says"), 200) + "\n";
  }
  for (const Json& row : list_of(decided, "measured")) {
    const std::string message = text(row, "message");
    out += fmt::format("measured: {}: {}{}\n", inline_text(text(row, "probe"), 20),
                       inline_text(text(row, "outcome"), 20),
                       message.empty() ? "" : ": " + inline_text(message, 300));
  }
  for (const std::string& gap : strings(decided, "gaps")) {
    out += "gap: " + inline_text(gap, 300) + "\n";
  }
  return out;
}

// The symptoms of the root-cause page: what a healthy kernel would have shown, beside the
// observation.

namespace {

std::string number_cell(const Json& figures, const char* key) {
  const auto value = number(figures, key);
  return value ? fmt::format("{:.3g}", *value) : "not known";
}

}  // namespace

std::string symptoms_section(const Facts& facts, const std::vector<session::Fact>& findings) {
  Table table({"symptom", "expected", "actual", "indicates"});
  for (const session::Fact& finding : findings) {
    const Json& figures = field(finding.payload, "figures");
    const std::string analysis = text(finding.payload, "analysis");
    const std::string subject = text(figures, "subject"), who = code(subject, 60);
    const std::string seen = cite(finding.seq);
    if (analysis == "grid_scaling") {
      table.row({who + ": time over heads", "heads^0.4 or less while SMs are free",
                 "heads^" + number_cell(figures, "exponent_over_heads") + seen,
                 inline_text(text(figures, "verdict"), 40) + " batch and heads"});
    } else if (analysis == "key_walk") {
      table.row({who + ": time over keys", "keys^0.4 or less while SMs are free",
                 "keys^" + number_cell(figures, "exponent_over_keys") + seen,
                 inline_text(text(figures, "verdict"), 40) + " walk over the keys"});
    } else if (analysis == "scaling" && number(figures, "beside_exponent")) {
      table.row({who + ": time over work, " + inline_text(text(figures, "axis"), 20),
                 "as " + code(text(figures, "beside"), 60) + ": work^" +
                     number_cell(figures, "beside_exponent"),
                 "work^" + number_cell(figures, "exponent") + seen,
                 inline_text(text(figures, "class"), 40) +
                     (is_true(figures, "class_is_certain") ? "" : ", not certain")});
    } else if (analysis == "launch" && number(figures, "units_frac") &&
               facts.find_rival(subject) == nullptr) {
      const auto blocks = integer(figures, "blocks"), units = integer(figures, "units");
      table.row(
          {who + ": blocks on " + inline_text(facts.title(text(finding.payload, "problem")), 60),
           fmt::format("{} at least", units.value_or(0)),
           fmt::format("{}", blocks.value_or(0)) + seen,
           *number(figures, "units_frac") < 1 ? "idle units" : "work for every unit"});
    } else if (analysis == "reference_check") {
      table.row({who + ": time over work", "longer for more work",
                 fmt::format("{}x the time for {}x the work", number_cell(figures, "time_ratio"),
                             number_cell(figures, "work_ratio")) +
                     seen,
                 inline_text(text(figures, "state"), 40)});
    }
  }
  return "## Symptoms\n\n" + (table.empty()
                                  ? "No analysis found a pattern that has an expectation.\n\n"
                                  : table.str() + "\n");
}

}  // namespace wb::report
