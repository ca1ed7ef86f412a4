// SPDX-License-Identifier: MIT
// The result of one iteration: its comparisons by kind, its outcome, its label.
#include <algorithm>
#include <stdexcept>

#include "core/json.hpp"
#include "report/facts.hpp"

namespace wb::report {

using session::Fact;
using session::IterationView;

namespace {

int phase_rank(const std::string& phase) {
  return phase == "confirmation" ? 2 : phase == "baseline" ? 1 : 0;
}

Compared read_comparison(const Fact& fact) {
  const Json& payload = fact.payload;
  Compared compared;
  compared.seq = fact.seq;
  compared.phase = text(payload, "phase");
  compared.problem = text(payload, "problem");
  compared.plan = text(payload, "plan");
  compared.regime = text(payload, "regime");
  compared.candidate = text(payload, "candidate");
  compared.against = text(payload, "against");
  compared.outcome = text(payload, "outcome");
  compared.reason = text(payload, "reason");
  compared.against_rival = text(payload, "role") == "rival";
  compared.ratio = ratio(payload);
  compared.candidate_us = number(payload, "candidate_us");
  compared.against_us = number(payload, "against_us");
  compared.noise_floor_frac = number(payload, "noise_floor_frac");
  compared.resolution_frac = number(payload, "resolution_frac");
  compared.instances = integer(payload, "instances");
  compared.rounds = integer(payload, "rounds");
  compared.has_flags = field(payload, "flags").is_array();
  compared.flags = strings(payload, "flags");
  const Json& regimes = field(payload, "regimes");
  for (const char* regime : {"burst", "sustained"}) {
    const Json& figures = field(regimes, regime);
    if (!figures.is_object()) continue;
    compared.regimes.push_back({regime, text(figures, "outcome"), ratio(figures)});
  }
  const Json& fresh = field(payload, "fresh");
  compared.fresh_state = text(fresh, "state");
  if (fresh.is_object()) compared.fresh = ratio(fresh);
  compared.conditions = &field(payload, "conditions");
  return compared;
}

}  // namespace

ComparisonIndex::ComparisonIndex(const IterationView& iteration) {
  m_all.reserve(iteration.comparisons.size());
  for (const Fact& fact : iteration.comparisons) {
    m_all.push_back(read_comparison(fact));
    const Compared& added = m_all.back();
    const std::string against(added.against_rival ? base_name(added.against) : "");
    const Key key{against, added.problem, added.plan};
    const auto [found, is_new] = m_best.try_emplace(key, m_all.size() - 1);
    if (!is_new && phase_rank(added.phase) >= phase_rank(m_all[found->second].phase)) {
      found->second = m_all.size() - 1;
    }
  }
}

const Compared* ComparisonIndex::find(const std::string& against, const std::string& problem,
                                      const std::string& plan) const {
  const auto found = m_best.find(Key{std::string(base_name(against)), problem, plan});
  return found == m_best.end() ? nullptr : &m_all[found->second];
}

std::string_view to_string(IterationOutcome value) {
  switch (value) {
    case IterationOutcome::open:
      return "in flight";
    case IterationOutcome::baseline:
      return "baseline";
    case IterationOutcome::win:
      return "win";
    case IterationOutcome::no_gain:
      return "no gain";
    case IterationOutcome::invalid:
      return "invalid";
    case IterationOutcome::abandoned:
      return "abandoned";
  }
  throw std::logic_error("an IterationOutcome outside its enumeration");
}

IterationOutcome outcome_of(const IterationView& iteration) {
  // The iteration is open, or was when the session died. Pages of an iteration that is about to
  // close are rendered from a view in which it is closed.
  if (!iteration.closed) return IterationOutcome::open;
  const std::string word = text(iteration.closed->payload, "outcome");
  if (word == "baseline") return IterationOutcome::baseline;
  if (word == "win") return IterationOutcome::win;
  if (word == "no_gain") return IterationOutcome::no_gain;
  if (word == "invalid") return IterationOutcome::invalid;
  return IterationOutcome::abandoned;
}

std::string outcome_word(const IterationView& iteration) {
  switch (outcome_of(iteration)) {
    case IterationOutcome::open:
      return "open";
    case IterationOutcome::no_gain:
      return "no_gain";
    default:
      return std::string(to_string(outcome_of(iteration)));
  }
}

std::string invalidity_of(const IterationView& iteration) {
  return iteration.closed ? text(iteration.closed->payload, "invalidity") : std::string();
}

std::string failure_message(const IterationView& iteration) {
  if (!iteration.closed) return {};
  std::string message = text(iteration.closed->payload, "message");
  if (!message.empty()) return message;
  for (const Fact& built : iteration.built) {
    if (text(built.payload, "outcome") != "built") return text(built.payload, "message");
  }
  for (const Fact& verdict : iteration.verdicts) {
    if (!is_true(verdict.payload, "pass")) return text(verdict.payload, "message");
  }
  return {};
}

const Fact* candidate_build(const IterationView& iteration) {
  const std::string own = text(iteration.opened.payload, "variant");
  // A tune builds many variants; the one that was compared at the end is its candidate.
  const std::string compared =
      iteration.comparisons.empty() ? "" : text(iteration.comparisons.back().payload, "candidate");
  const Fact* last = nullptr;
  for (const Fact& built : iteration.built) {
    const std::string subject = text(built.payload, "subject");
    if (!compared.empty() && subject == compared) return &built;
    if (base_name(subject) == base_name(own)) last = &built;
  }
  return last;
}

std::string candidate_label(const IterationView& iteration) {
  // Comparisons name an artifact and iteration_opened a variant; figures belong to the artifact.
  if (iteration.incumbent_changed) {
    const std::string label = text(iteration.incumbent_changed->payload, "to");
    if (!label.empty()) return label;
  }
  if (!iteration.comparisons.empty()) {
    const std::string label = text(iteration.comparisons.back().payload, "candidate");
    if (!label.empty()) return label;
  }
  const Fact* built = candidate_build(iteration);
  if (built != nullptr && text(built->payload, "outcome") == "built") {
    return text(built->payload, "subject");
  }
  return text(iteration.opened.payload, "variant");
}

const Compared* objective_figure(const Facts& facts, const ComparisonIndex& index,
                                 const std::string& plan) {
  if (const Compared* found = index.find("", "", plan)) return found;
  // A suite of one problem, or an objective of one, needs no figure over the suite.
  const std::string own = text(field(facts.view.opened.payload, "objective"), "problem");
  for (const SuiteEntry& entry : facts.suite) {
    if (facts.suite.size() == 1 || (!own.empty() && (entry.name == own || entry.problem == own))) {
      return index.find("", entry.problem, plan);
    }
  }
  return nullptr;
}

std::vector<const Fact*> floors_in_use(const Facts& facts) {
  std::vector<const Fact*> in_use;
  for (const Fact& fact : facts.view.noise_floors) {
    const Json& used = field(fact.payload, "used");  // absent in older logs
    if (used.is_boolean() && !used.get<bool>()) continue;
    const auto before = std::find_if(in_use.begin(), in_use.end(), [&](const Fact* other) {
      return text(other->payload, "problem") == text(fact.payload, "problem") &&
             text(other->payload, "plan") == text(fact.payload, "plan");
    });
    if (before == in_use.end()) {
      in_use.push_back(&fact);
    } else {
      *before = &fact;
    }
  }
  return in_use;
}

std::string_view base_name(std::string_view subject) {
  return subject.substr(0, subject.find('@'));
}

std::string configuration_text(const Json& configuration) {
  std::string out;
  if (!configuration.is_object()) return out;
  for (const auto& [name, value] : configuration.items()) {
    out += (out.empty() ? "" : " ") + name + "=" +
           (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out;
}

std::vector<std::int64_t> seqs(const std::vector<Fact>& facts) {
  std::vector<std::int64_t> result;
  result.reserve(facts.size());
  for (const Fact& fact : facts) result.push_back(fact.seq);
  return result;
}

}  // namespace wb::report
