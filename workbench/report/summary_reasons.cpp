// SPDX-License-Identifier: MIT
// Of the report of two pages: why the winner wins, and what limits it now.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "outcome/outcome.hpp"
#include "report/causes.hpp"
#include "report/summary.hpp"

namespace wb::report::two_pages {

using session::Fact;

namespace {

constexpr std::size_t k_named = 3;

std::string titles_of(const std::vector<const Json*>& causes) {
  std::string out;
  for (std::size_t i = 0; i < std::min(causes.size(), k_named); ++i) {
    out += (i == 0 ? "" : ", ") + inline_text(text(*causes[i], "title"), 60);
  }
  return causes.size() > k_named ? fmt::format("{} and {} more", out, causes.size() - k_named)
                                 : out;
}

/// The events of one piece of evidence.
std::string evidence_events(const Json& evidence) {
  std::vector<std::int64_t> events;
  for (const Json& event : list_of(evidence, "events")) {
    if (event.is_number_integer()) events.push_back(event.get<std::int64_t>());
  }
  return cite(events);
}

/// Without fitted exponents, "(keys^0.87)", which say nothing beside the times that they fit.
std::string without_exponents(std::string said) {
  for (std::size_t open = said.find(" ("); open != std::string::npos;
       open = said.find(" (", open + 1)) {
    const std::size_t close = said.find(')', open), power = said.find('^', open);
    if (close == std::string::npos) break;
    if (power > close || said.find(' ', open + 1) < close) continue;
    said.erase(open, close + 1 - open);
  }
  return said;
}

/// What one piece of evidence says, with its events; without the rule's words, which say nothing to
/// this page's reader.
std::string told_evidence(const Facts& facts, const Size& size, const std::string& subject,
                          const Json& cause, const Json& evidence) {
  constexpr std::string_view k_derived = "derived, not measured: ";
  std::string said = text(evidence, "statement");
  // "has_wide_copies false": the manifest's list of all techniques says less than what is missing.
  const std::string by = text(evidence, "by");
  const bool is_lack =
      by.starts_with("has_") && by.ends_with(" false") && by.find(',') == std::string::npos;
  if (text(evidence, "analysis") == "configuration" && is_lack) {
    std::string remedies;
    for (const std::string& remedy : strings(cause, "remedies")) {
      remedies += (remedies.empty() ? "" : ", ") + code(remedy, 40);
    }
    return remedies.empty() ? "by its manifest it has no remedy of that"
                            : "by its manifest it has none of the remedies " + remedies;
  }
  if (said.starts_with(k_derived)) said.erase(0, k_derived.size());
  said = without_exponents(facts.words(said));
  // Whose cause it is the sentence before says.
  if (!subject.empty() && said.starts_with(subject + " ")) {
    const std::size_t colon = said.find("): ");
    const bool is_problem = said.compare(subject.size() + 1, 3, "on ") == 0;
    if (is_problem) said.erase(0, subject.size() + 1);
    if (!is_problem && colon != std::string::npos) said.erase(0, colon + 3);
  }
  return clause(said, size.proof_bytes) + evidence_events(evidence);
}

/// Whether the statement has the problem's title as a word.
bool names_problem(std::string_view said, std::string_view title) {
  for (std::size_t at = said.find(title); at != std::string_view::npos;
       at = said.find(title, at + 1)) {
    const auto is_part = [&](std::size_t i) {
      return i < said.size() && (ascii::is_alnum(said[i]) || said[i] == '_');
    };
    if (!is_part(at + title.size()) && (at == 0 || !is_part(at - 1))) return true;
  }
  return false;
}

/// Evidence of one strength that speaks of `problem` comes before other; empty: the first.
const Json* first_evidence_for(const Json& cause, bool is_proof, const std::string& problem = {}) {
  const Json* first = nullptr;
  for (const Json& one : list_of(cause, "evidence")) {
    if (text(one, "says") == "refuted") continue;
    // That a build spills registers does not show that the spills cost time.
    const bool proves = text(one, "strength") == "strong" && text(one, "analysis") != "ptxas";
    if (!proves && is_proof) continue;
    if (first == nullptr) first = &one;
    if (problem.empty()) break;
    const bool is_equal = text(one, "strength") == text(*first, "strength") &&
                          text(one, "analysis") == text(*first, "analysis");
    if (is_equal && names_problem(text(one, "statement"), problem)) return &one;
  }
  return first;
}

/// Whether a measurement, a profile or the machine code shows the cause at work.
bool is_settled(const Json& cause) {
  return text(cause, "strength") == "strong" && first_evidence_for(cause, true) != nullptr;
}

double share_of_suite(const Json& cause) {
  return number(cause, "share_frac").value_or(1);
}

/// The settled ones first, then those of more problems; in the order of the log otherwise.
std::vector<const Json*> by_proof(std::vector<const Json*> causes) {
  const auto rank = [](const Json* cause) {
    const std::string strength = text(*cause, "strength");
    return is_settled(*cause) ? 0 : strength == "strong" ? 1 : strength == "weak" ? 2 : 3;
  };
  std::stable_sort(causes.begin(), causes.end(), [&](const Json* a, const Json* b) {
    return std::pair(rank(a), -share_of_suite(*a)) < std::pair(rank(b), -share_of_suite(*b));
  });
  return causes;
}

/// "the cost of a call. Proof: …" of a settled one; "narrow loads (weak evidence: …)".
std::string proved_cause(const Page& page, const Size& size, const std::string& subject,
                         const Json& cause) {
  const Facts& facts = page.facts;
  const std::string title = inline_text(text(cause, "title"), 80);
  // A command that would decide it looks at the same problem.
  const std::string example = facts.title(example_problem(page, strings(cause, "where")));
  const Json* proof = first_evidence_for(cause, is_settled(cause), example);
  if (is_settled(cause))
    return ended(title + ". Proof: " + told_evidence(facts, size, subject, cause, *proof));
  const std::string strength = text(cause, "strength");
  const std::string kind = strength == "derived"  ? std::string("derived, not measured")
                           : strength == "strong" ? std::string("seen in the build alone")
                           : strength.empty()     ? std::string("its evidence is not recorded")
                                                  : inline_text(strength, 10) + " evidence";
  return fmt::format(
      "{} ({}{})", title, kind,
      proof == nullptr ? std::string() : ": " + told_evidence(facts, size, subject, cause, *proof));
}

/// Takes what the engine can measure by itself; only an open session has it.
constexpr const char* k_probes = "sdpa-wb diagnose --measure";

/// What a person types to have the cause decided; empty where nothing decides it.
std::string deciding_command(const Page& page, const Json& cause, const std::string& subject) {
  const Json& decided_by = field(cause, "decided_by");
  if (decided_by.is_object()) return text(decided_by, "command");
  if (cause.is_object() && cause.contains("decided_by") && text(cause, "state") == "undecided") {
    return {};
  }
  const auto& environment = page.facts.view.environment;
  const bool is_gpu =
      environment && text(field(environment->payload, "device"), "backend") == "cuda";
  const std::string problem = example_problem(page, strings(cause, "where"));
  if (!is_gpu || subject.empty() || problem.empty()) return k_probes;
  const Json* evidence = first_evidence_for(cause, false);
  if (evidence != nullptr && text(*evidence, "analysis") == "configuration") {
    return fmt::format("sdpa-wb show {} --sass", subject);
  }
  return fmt::format("sdpa-wb profile {} --problem '{}'", subject, problem);
}

/// "; `sdpa-wb …` would decide it".
std::string decided_by(const Page& page, const Json& cause, const std::string& subject) {
  const std::string command = deciding_command(page, cause, subject);
  // Names of others are in it; what cannot stand in a code span is not offered as a command.
  if (command.empty() || command.find('`') != std::string::npos) return {};
  return fmt::format("; `{}`{} would decide it", plain(command, 300),
                     command == k_probes ? " in an open session" : "");
}

/// "6 of 11 problems (a, b, c and 3 more)"; empty where it is all of them.
std::string where_words(const Page& page, const Json& cause) {
  const std::vector<std::string> where = strings(cause, "where");
  if (where.empty() || share_of_suite(cause) >= 0.995) return {};
  std::string names;
  for (std::size_t i = 0; i < std::min(where.size(), k_named); ++i) {
    names += (i == 0 ? "" : ", ") + inline_text(page.facts.words(where[i]), 50);
  }
  if (where.size() > k_named) names += fmt::format(" and {} more", where.size() - k_named);
  const auto shown =
      static_cast<std::size_t>(std::count_if(page.facts.suite.begin(), page.facts.suite.end(),
                                             [](const SuiteEntry& one) { return !one.held_out; }));
  const std::string of = shown >= where.size()
                             ? fmt::format("{} of {}", where.size(), of_problems(shown))
                             : of_problems(where.size());
  return fmt::format("{} ({})", of, names);
}

/// Whether the cause is at work on a problem that the other one does not explain.
bool reaches_beyond(const Json& cause, const Json& other) {
  const std::vector<std::string> known = strings(other, "where"), where = strings(cause, "where");
  return where.empty() || std::any_of(where.begin(), where.end(), [&](const std::string& name) {
           return std::find(known.begin(), known.end(), name) == known.end();
         });
}

/// " Why P is slower than its rival is not known." of the largest loss, where the subject is taken
/// there and none of the causes is at work on it.
std::string unexplained_loss(const Page& page, const std::string& subject,
                             const std::vector<const Json*>& causes) {
  const auto lost = outcome::losses_of(page.conclusion).to_rivals;
  if (lost.empty()) return {};
  // Another variant's causes were not asked for.
  const auto taken = taken_on(page, lost.front().problem);
  if (taken && taken->variant != subject) return {};
  for (const Json* cause : causes) {
    if (cause == nullptr) continue;
    const std::vector<std::string> where = strings(*cause, "where");
    const bool is_there = std::any_of(where.begin(), where.end(), [&](const std::string& name) {
      return page.facts.words(name) == lost.front().problem ||
             page.facts.title(name) == lost.front().problem;
    });
    if (where.empty() || is_there) return {};
  }
  return fmt::format(" Why {} is slower than its rival is not known.",
                     inline_text(lost.front().problem, 50));
}

/// Of the supported causes for which `is_left` holds the one with the largest gain by a remedy that
/// is left; nullptr where none promises much.
template <typename IsLeft>
const Json* most_to_gain(const std::vector<const Json*>& supported, const IsLeft& is_left) {
  constexpr double k_much = 1.3;
  const Json* found = nullptr;
  double most = k_much;
  for (const Json* cause : supported) {
    const auto gain = number(field(*cause, "gain"), "expected");
    if (!gain || *gain < most || is_settled(*cause) || !is_left(cause)) continue;
    // What shows another cause rather than this one promises nothing here.
    const Json* first = first_evidence_for(*cause, false);
    if (first == nullptr || !text(*first, "shared_with").empty()) continue;
    most = *gain;
    found = cause;
  }
  return found;
}

/// What limits it now, as far as a measurement shows it, and the likeliest where none does.
/// Returns whether it named the open causes.
bool add_limits(const Page& page, const Size& size, const Json& decided,
                std::vector<std::string>& out) {
  const std::vector<const Json*> supported = by_proof(causes_of(decided, "supported"));
  const std::vector<const Json*> open = causes_of(decided, "undecided");
  const std::string subject = text(decided, "subject");
  const Json* settled =
      !supported.empty() && is_settled(*supported.front()) ? supported.front() : nullptr;
  bool is_whole = false;
  if (settled != nullptr) {
    const std::string where = where_words(page, *settled);
    is_whole = where.empty();
    out.push_back(fmt::format("What limits it now{}: {}", is_whole ? "" : " on " + where,
                              proved_cause(page, size, subject, *settled)));
  }
  if (is_whole) return false;
  const auto is_left = [&](const Json* cause) {
    return settled == nullptr || (cause != settled && reaches_beyond(*cause, *settled));
  };
  const auto likeliest = std::find_if(supported.begin(), supported.end(), is_left);
  const char* lead = settled == nullptr ? "Not settled" : "Elsewhere not settled";
  if (likeliest != supported.end() && is_settled(**likeliest)) {
    out.push_back(fmt::format("On {}: {}", where_words(page, **likeliest),
                              proved_cause(page, size, subject, **likeliest)));
  } else if (likeliest != supported.end()) {
    const std::string where = where_words(page, **likeliest);
    const Json* promising = most_to_gain(supported, is_left);
    const bool are_two = promising != nullptr && promising != *likeliest;
    const std::string loss =
        unexplained_loss(page, subject, {*likeliest, settled, are_two ? promising : nullptr});
    if (are_two) {
      const std::string also = where_words(page, *promising);
      out.push_back(fmt::format(
          "{}; most could be gained against {}{}: {} by its best remedy. By {} evidence there is "
          "also{}: {}{}.{}",
          lead, proved_cause(page, size, subject, *promising), also.empty() ? "" : ", on " + also,
          gain_words(*promising), inline_text(text(**likeliest, "strength"), 10),
          where.empty() ? "" : ", on " + where, inline_text(text(**likeliest, "title"), 80),
          evidence_events(*first_evidence_for(**likeliest, false)), loss));
    } else {
      out.push_back(fmt::format("{}: the likeliest{} is {}{}.{}", lead,
                                where.empty() ? "" : " on " + where,
                                proved_cause(page, size, subject, **likeliest),
                                decided_by(page, **likeliest, subject), loss));
    }
  } else if (!open.empty()) {
    out.push_back(fmt::format("{}: no measurement decides {}{}.", lead, titles_of(open),
                              decided_by(page, *open.front(), subject)));
    return true;
  }
  if (likeliest == supported.end() && settled == nullptr) {
    out.emplace_back("Not settled: none of the known causes is at work.");
  }
  return false;
}

/// What the log's decided causes say, if they are about what is recommended.
void add_decided(const Page& page, const Size& size, const Json& decided,
                 std::vector<std::string>& out) {
  const bool are_rivals_ahead = !page.conclusion.recommendation.develop.empty();
  const std::string subject = text(decided, "subject");
  if (!subject.empty() && !is_recommended(page, subject)) {
    out.push_back(fmt::format(
        "What limits the recommendation is not known: this session looked for the causes of {} "
        "alone, which it does not recommend.",
        code(subject, 60)));
    return;
  }
  const auto removed = held_up_causes(decided);
  if (!removed.empty()) {
    const Json& first = *removed.front();
    out.push_back(fmt::format(
        "The start was {}held up by: {} That no longer holds.",
        is_settled(first) ? "" : "probably ",
        ended(proved_cause(page, size, text(field(decided, "start"), "subject"), first))));
  }
  std::vector<std::string> limits;
  const bool has_named_open = add_limits(page, size, decided, limits);
  // Where all is lost, what holds it back is what a reader asks for first.
  out.insert(are_rivals_ahead ? out.begin() : out.end(), limits.begin(), limits.end());
  std::vector<const Json*> measured;
  for (const Json* cause : causes_of(decided, "refuted")) {
    if (text(*cause, "strength") == "strong") measured.push_back(cause);
  }
  const auto open = causes_of(decided, "undecided");
  std::string others;
  if (!measured.empty()) {
    others = fmt::format("It is not, by measurement: {}.", titles_of(measured));
  }
  if (!open.empty() && !has_named_open) {
    others += (others.empty() ? "Open: " : " Open: ") + titles_of(open) + ".";
  }
  if (!others.empty()) out.push_back(std::move(others));
}

/// Of a log without decided causes: what today's analyses say of how start and winner walk.
void add_found(const Page& page, const Size& size, std::vector<std::string>& out) {
  std::set<std::string> told;
  const std::vector<Fact> findings = findings_now(page.facts.view);
  const auto add = [&](const std::string& subject, const char* lead) {
    for (const char* analysis : {"key_walk", "grid_scaling", "parallelism"}) {
      for (const Fact& finding : findings) {
        const bool is_it = text(finding.payload, "analysis") == analysis &&
                           text(field(finding.payload, "figures"), "subject") == subject;
        if (!is_it || !told.insert(subject).second) continue;
        out.push_back(lead + ended(clause(without_exponents(
                                              page.facts.words(text(finding.payload, "statement"))),
                                          size.proof_bytes) +
                                   cite(finding.seq)));
      }
    }
  };
  add(page.facts.start, "Of the start: ");
  if (!page.conclusion.recommendation.parts.empty()) {
    add(page.conclusion.recommendation.parts.front().variant, "Of the winner: ");
  }
  out.emplace_back("This log holds no decided causes; `sdpa-wb diagnose` decides them from it.");
}

}  // namespace

std::vector<std::string> reasons(const Page& page, const Size& size) {
  std::vector<std::string> out;
  const bool is_measured = page.conclusion.main_group() != nullptr;
  if (!is_measured) return {"Nothing was compared, so there is no cause to name."};
  if (advises_change(page)) out = win_words(page);
  const auto& causes = page.facts.view.causes;
  if (causes && causes->payload.is_object()) {
    add_decided(page, size, causes->payload, out);
  } else {
    add_found(page, size, out);
  }
  if (out.empty()) out.emplace_back("No cause was decided.");
  return out;
}

}  // namespace wb::report::two_pages
