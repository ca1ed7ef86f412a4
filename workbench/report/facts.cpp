// SPDX-License-Identifier: MIT
#include "report/facts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "problem/problem.hpp"
#include "report/format.hpp"

namespace wb::report {

using session::Fact;
using session::IterationView;

namespace {

bool is_baseline(const IterationView& iteration) {
  return iteration.number == 0 || !field(iteration.opened.payload, "hypothesis").is_object();
}

std::string join(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

}  // namespace

bool RivalFacts::stands(const std::string& problem) const {
  if (!built) return false;
  if (problem.empty()) return whole_suite && failed.empty();
  return passed.contains(problem) && !failed.contains(problem);
}

Facts::Facts(const session::SessionView& session_view)
    : view(session_view),
      prices(session::prices_of(
          view.opened.payload,
          view.environment ? field(view.environment->payload, "device") : Json(nullptr))) {
  const Json& objective = field(view.opened.payload, "objective");
  rule = text(objective, "rule");
  plan = text(objective, "plan");
  if (plan.empty()) plan = "hot";
  regime = text(objective, "regime");
  hide_held_out = view.status != session::SessionStatus::closed;
  read_suite();
  sort_iterations();
  find_rivals();
}

void Facts::read_suite() {
  const Json& problems = field(field(view.opened.payload, "suite"), "problems");
  if (!problems.is_array()) return;
  for (const Json& item : problems) {
    SuiteEntry entry;
    entry.problem = text(item, "problem");
    entry.name = text(item, "name");
    if (entry.name.empty()) entry.name = short_name(entry.problem);
    // Two problems may have the same short name.
    while (m_suite_index.contains(entry.name)) entry.name += "_2";
    entry.weight = number(item, "weight").value_or(1);
    entry.held_out = is_true(item, "held_out");
    entry.share_frac = number(item, "share_frac");
    if (entry.problem.empty()) continue;
    m_suite_index.emplace(entry.problem, suite.size());
    m_suite_index.emplace(entry.name, suite.size());  // findings name problems by label
    suite.push_back(std::move(entry));
  }
}

void Facts::sort_iterations() {
  std::set<std::string> measured;
  for (const IterationView& iteration : view.iterations) {
    if (is_baseline(iteration)) {
      baseline = &iteration;
    } else {
      tries.push_back(&iteration);
      // A change takes effect when its iteration closes, and never if the iteration is abandoned.
      const bool holds = outcome_of(iteration) == IterationOutcome::win;
      if (holds && iteration.incumbent_changed) wins.push_back(&iteration);
    }
    for (const Fact& fact : iteration.comparisons) measured.insert(text(fact.payload, "plan"));
  }
  holder = wins.empty() ? baseline : wins.back();
  start = baseline != nullptr ? candidate_label(*baseline) : "";
  if (start.empty()) start = text(view.opened.payload, "start_variant");
  plans.push_back(plan);
  for (const char* word : {"hot", "cold", "eager"}) {
    if (word != plan && measured.contains(word)) plans.emplace_back(word);
  }
}

RivalFacts& Facts::rival(const std::string& subject) {
  RivalFacts& facts = rivals[std::string(base_name(subject))];
  if (facts.name.empty()) facts.name = subject;
  return facts;
}

/// Reads from `versions` what the loaded subject said about itself: its name, then the library that
/// contains it. The latest statement counts; a compiled subject's build id is not a version.
void Facts::note_versions(RivalFacts& facts, const Fact& fact) {
  const Json& said = field(fact.payload, "versions");
  if (!said.is_object()) return;
  std::vector<std::string> named, carriers;
  for (const auto& [name, value] : said.items()) {
    if (!value.is_string() || name == "build_id") continue;
    const std::string words = value.get<std::string>();
    if (!words.empty()) (name == "python" ? carriers : named).push_back(name + " " + words);
  }
  if (named.empty() && carriers.empty()) return;
  const std::string version = join(named.empty() ? carriers : named);
  named.insert(named.end(), carriers.begin(), carriers.end());
  const std::string versions = join(named);
  if (versions == facts.versions) return;  // repeated: the first event is kept
  facts.version = version;
  facts.versions = versions;
  facts.version_seq = fact.seq;
}

void Facts::note_rival_build(const Fact& built) {
  RivalFacts& facts = rival(text(built.payload, "subject"));
  note_versions(facts, built);
  const std::string builder = text(built.payload, "compiler");
  if (facts.version.empty() && !builder.empty()) {
    facts.version = facts.versions = builder;
    facts.version_seq = built.seq;
  }
  facts.built_seq = built.seq;
  facts.built = text(built.payload, "outcome") == "built";
  if (!facts.built) {
    facts.failure = text(built.payload, "message");
    facts.failure_seq = built.seq;
  }
}

void Facts::note_rival_verdict(const Fact& verdict) {
  RivalFacts& facts = rival(text(verdict.payload, "subject"));
  note_versions(facts, verdict);
  const std::string problem = text(verdict.payload, "problem");
  if (is_true(verdict.payload, "pass")) {
    facts.passed.insert(problem);
  } else if (text(verdict.payload, "outcome") == "constraints") {
    facts.refused.insert(problem);
    if (facts.refusal_seq == 0) facts.refusal_seq = verdict.seq;
  } else if (text(verdict.payload, "outcome") != "environment") {
    facts.failed.insert(problem);
    if (facts.failure_seq == 0) {
      facts.failure = text(verdict.payload, "message");
      facts.failure_seq = verdict.seq;
    }
  }
}

void Facts::note_rival_kernels(const Fact& profile) {
  std::vector<const Fact*>& kernels = rival(text(profile.payload, "subject")).kernels;
  const std::string problem = text(profile.payload, "problem");
  std::erase_if(kernels, [&](const Fact* old) { return text(old->payload, "problem") == problem; });
  kernels.push_back(&profile);
}

void Facts::find_rivals() {
  for (const std::string& name : strings(view.opened.payload, "rivals")) {
    rival(name);
  }
  for (const IterationView& iteration : view.iterations) {
    for (const Fact& fact : iteration.comparisons) {
      if (text(fact.payload, "role") == "rival") rival(text(fact.payload, "against"));
    }
  }
  for (const IterationView& iteration : view.iterations) {
    for (const Fact& built : iteration.built) {
      if (is_rival(iteration, text(built.payload, "subject"))) note_rival_build(built);
    }
    for (const Fact& verdict : iteration.verdicts) {
      if (is_rival(iteration, text(verdict.payload, "subject"))) note_rival_verdict(verdict);
    }
    for (const Fact& profile : iteration.profiles) {
      const bool names_kernels = text(profile.payload, "tool") == k_kernel_names_tool;
      if (names_kernels && is_rival(iteration, text(profile.payload, "subject"))) {
        note_rival_kernels(profile);
      }
    }
  }
  for (auto& [name, facts] : rivals) {
    if (facts.version.empty()) facts.version = facts.versions = "version not recorded";
    const std::set<std::string>& passed = facts.passed;
    facts.whole_suite =
        !suite.empty() && std::all_of(suite.begin(), suite.end(), [&passed](const auto& entry) {
          return entry.held_out || passed.contains(entry.problem);
        });
  }
}

bool Facts::is_rival(const IterationView& iteration, const std::string& subject) const {
  const std::string base(base_name(subject));
  const std::string own = text(iteration.opened.payload, "variant");
  if (base == base_name(own)) return false;
  // Every subject that the baseline judged besides the start is an opponent.
  return is_baseline(iteration) ? base != base_name(start) : rivals.contains(base);
}

std::string Facts::title(const std::string& problem) const {
  const auto found = m_suite_index.find(problem);
  if (found == m_suite_index.end()) return short_name(problem);
  const SuiteEntry& entry = suite[found->second];
  if (!entry.held_out || !hide_held_out) return entry.name;
  const auto before =
      std::count_if(suite.begin(), suite.begin() + static_cast<std::ptrdiff_t>(found->second),
                    [](const SuiteEntry& other) { return other.held_out; });
  return fmt::format("held-out {}", before + 1);
}

std::string Facts::words(std::string said) const {
  said = readable(std::move(said));
  if (said.find("Hq=") == std::string::npos) return said;
  std::vector<const SuiteEntry*> longest_first;
  for (const SuiteEntry& entry : suite) longest_first.push_back(&entry);
  // One problem's text may be a prefix of another's.
  std::stable_sort(longest_first.begin(), longest_first.end(), [](const auto* a, const auto* b) {
    return a->problem.size() > b->problem.size();
  });
  for (const SuiteEntry* entry : longest_first) {
    const std::string name = title(entry->problem);
    for (std::size_t at = said.find(entry->problem); at != std::string::npos;
         at = said.find(entry->problem, at + name.size())) {
      said.replace(at, entry->problem.size(), name);
    }
  }
  return said;
}

bool Facts::is_held_out(const std::string& problem) const {
  const auto found = m_suite_index.find(problem);
  return found != m_suite_index.end() && suite[found->second].held_out;
}

std::string Facts::plan_label(const std::string& word) const {
  return word == plan && !regime.empty() ? word + " " + regime : word;
}

const RivalFacts* Facts::find_rival(const std::string& subject) const {
  const auto found = rivals.find(std::string(base_name(subject)));
  return found == rivals.end() ? nullptr : &found->second;
}

bool Facts::has_refused(const std::string& subject, const std::string& problem) const {
  const RivalFacts* found = find_rival(subject);
  return found != nullptr && found->refused.contains(problem);
}

}  // namespace wb::report
