// SPDX-License-Identifier: MIT
#include "report/evidence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyze/evidence.hpp"
#include "core/json.hpp"
#include "report/facts.hpp"

namespace wb::report {

using measure::Evidence;
using session::IterationView;
using session::SessionView;

namespace {

/// A device fact that the log lacks is a gap: then no analysis mentions the device's peaks.
void read_device(const SessionView& view, LogEvidence& result) {
  const Json none;
  const Json& environment = view.environment ? view.environment->payload : none;
  const Json& recorded = field(environment, "device");
  const Json& device = recorded.is_object() ? recorded : field(view.opened.payload, "device");
  result.evidence.call_overhead_us = number(environment, "call_overhead_us").value_or(0);
  if (auto read = device::device_from_json(device); read.ok()) {
    result.evidence.device = *std::move(read);
  } else {
    result.gaps.push_back("the device: " + read.error().message());
  }
}

/// Gathers figures iteration by iteration, those of each subject on a problem and plan once.
class Gatherer {
 public:
  Gatherer(const Facts& facts, Evidence& evidence) : m_facts(facts), m_evidence(evidence) {}

  void add(const IterationView& iteration) {
    const ComparisonIndex index(iteration);
    for (const Compared& one : index.all()) {
      const std::string against = one.against_rival ? one.against : std::string();
      // If something was compared twice, only the later phase counts.
      if (one.problem.empty() || index.find(against, one.problem, one.plan) != &one) continue;
      if (one.plan != m_facts.plan) {
        m_other_plans.insert(one.plan);
        continue;
      }
      if (m_facts.hide_held_out && m_facts.is_held_out(one.problem)) {
        m_hidden.insert(one.problem);
        continue;
      }
      observe(one, one.candidate, one.candidate_us, false);
      const RivalFacts* rival = one.against_rival ? m_facts.find_rival(one.against) : nullptr;
      if (rival != nullptr && rival->stands(one.problem)) {
        observe(one, one.against, one.against_us, true);
      }
    }
  }

  [[nodiscard]] std::size_t hidden() const { return m_hidden.size(); }
  [[nodiscard]] const std::set<std::string>& other_plans() const { return m_other_plans; }
  [[nodiscard]] const std::set<std::string>& subjects() const { return m_subjects; }

 private:
  void observe(const Compared& one, const std::string& subject, std::optional<double> time_us,
               bool is_reference) {
    const auto plan = measure::parse_plan_kind(one.plan);
    auto problem = problem::parse_problem(one.problem);
    if (!plan || !problem.ok() || !time_us || !(*time_us > 0)) return;
    problem->name = m_facts.title(one.problem);
    const std::string key = fmt::format("{}|{}|{}", subject, one.problem, one.plan);
    const auto [slot, is_new] = m_place.try_emplace(key, m_evidence.observations.size());
    if (!is_new) {
      m_evidence.observations[slot->second].events.push_back(one.seq);
      return;
    }
    measure::Observation observation;
    observation.problem = *std::move(problem);
    observation.subject = subject;
    observation.plan = *plan;
    observation.measurement.median_us = *time_us;
    observation.events = {one.seq};
    m_subjects.insert(subject);
    if (is_reference) m_evidence.beside.push_back(observation);
    m_evidence.observations.push_back(std::move(observation));
  }

  const Facts& m_facts;
  Evidence& m_evidence;
  std::map<std::string, std::size_t> m_place;
  std::set<std::string> m_hidden, m_other_plans, m_subjects;
};

/// How subjects make their f32 products, as the findings of the log tell.
void add_split_products(const IterationView& iteration, Evidence& evidence) {
  for (const session::Fact& finding : iteration.findings) {
    const Json& figures = field(finding.payload, "figures");
    const auto products = number(figures, "peak_products");
    const std::string units = text(figures, "peak_dtype"), subject = text(figures, "subject");
    if (!products || !(*products > 1) || units.empty() || subject.empty()) continue;
    evidence.split_products[subject] = {units, *products};
  }
}

void add_builds(const IterationView& iteration, const std::set<std::string>& subjects,
                std::set<std::string>& told, Evidence& evidence) {
  for (const session::Fact& built : iteration.built) {
    const std::string subject = text(built.payload, "subject");
    const Json& ptxas = field(built.payload, "ptxas");
    if (!subjects.contains(subject) || !ptxas.is_object() || told.contains(subject)) continue;
    const auto record = variant::ptxas_record_from_json(ptxas);
    if (!record.ok()) continue;
    told.insert(subject);  // the same code is built, or found, more than once
    analyze::add_ptxas(evidence, *record, subject, {built.seq});
  }
}

}  // namespace

void add_profiles(const SessionView& view, const std::set<std::string>& subjects,
                  Evidence& evidence) {
  const auto add = [&](const IterationView& where) {
    for (const session::Fact& profile : where.profiles) {
      if (!subjects.contains(text(profile.payload, "subject"))) continue;
      analyze::add_profile(evidence, profile.payload, profile.seq);
    }
  };
  for (const IterationView& iteration : view.iterations) add(iteration);
  add(view.outside);
}

void add_recorded_launches(const SessionView& view, Evidence& evidence) {
  const auto& observed = evidence.observations;
  const auto is_asked_for = [&](const session::Fact& fact) {
    return observed.empty() ||
           std::any_of(observed.begin(), observed.end(), [&](const measure::Observation& one) {
             return one.subject == text(fact.payload, "subject") &&
                    to_text(one.problem) == text(fact.payload, "problem");
           });
  };
  const auto add = [&](const IterationView& part) {
    for (const session::Fact& fact : part.launches) {
      if (is_asked_for(fact)) analyze::add_recorded_launches(evidence, fact.payload, fact.seq);
    }
  };
  for (const IterationView& iteration : view.iterations) add(iteration);
  add(view.outside);
}

namespace {

/// The evidence of these iterations; figures of the first come first.
LogEvidence evidence_of(const SessionView& view, const Facts& facts,
                        const std::vector<const IterationView*>& iterations) {
  LogEvidence result;
  Evidence& evidence = result.evidence;
  read_device(view, result);
  Gatherer gatherer(facts, evidence);
  for (const IterationView* iteration : iterations) gatherer.add(*iteration);
  for (const IterationView* iteration : iterations) add_split_products(*iteration, evidence);
  std::set<std::string> told;
  add_profiles(view, gatherer.subjects(), evidence);
  for (const IterationView& iteration : view.iterations) {
    add_builds(iteration, gatherer.subjects(), told, evidence);
  }
  add_builds(view.outside, gatherer.subjects(), told, evidence);
  if (!evidence.observations.empty()) add_recorded_launches(view, evidence);
  if (gatherer.hidden() > 0) {
    result.gaps.push_back(
        fmt::format("{} held-out problem{} left out while the session is not closed",
                    gatherer.hidden(), gatherer.hidden() == 1 ? " is" : "s are"));
  }
  if (!gatherer.other_plans().empty()) {
    result.gaps.push_back(fmt::format("times under other plans than the objective's: {}",
                                      fmt::join(gatherer.other_plans(), ", ")));
  }
  result.gaps.emplace_back(
      "clocks of the turns: what was found of them then is in the report and in "
      "finding_recorded events");
  return result;
}

Facts facts_of(const SessionView& view) {
  Facts facts(view);
  facts.hide_held_out = view.status != session::SessionStatus::closed;
  return facts;
}

}  // namespace

LogEvidence log_evidence(const SessionView& view) {
  const Facts facts = facts_of(view);
  std::vector<const IterationView*> iterations;
  if (facts.holder != nullptr) iterations.push_back(facts.holder);
  if (facts.baseline != nullptr && facts.baseline != facts.holder) {
    iterations.push_back(facts.baseline);
  }
  return evidence_of(view, facts, iterations);
}

LogEvidence iteration_evidence(const SessionView& view, const IterationView& iteration) {
  return evidence_of(view, facts_of(view), {&iteration});
}

}  // namespace wb::report
