// SPDX-License-Identifier: MIT
#include "verbs/cause_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "analyze/analysis.hpp"
#include "analyze/compiled_code.hpp"
#include "analyze/derived.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/recorded.hpp"
#include "measure/plan.hpp"
#include "report/evidence.hpp"
#include "variant/restriction.hpp"

namespace wb::verbs {

using advise::Target;
using engine::incumbent_iteration;
using engine::member_of;
using engine::stored_variant;
using engine::text_of;
using measure::Finding;
using session::IterationView;
using session::Session;
using session::SessionView;

std::map<std::string, std::vector<const session::Fact*>> timed_rivals(const SessionView& view) {
  std::map<std::string, std::vector<const session::Fact*>> rivals;
  const auto add = [&](const IterationView& part) {
    for (const session::Fact& one : part.comparisons) {
      if (text_of(one.payload, "role") != "rival") continue;
      rivals[text_of(one.payload, "against")].push_back(&one);
    }
  };
  for (const IterationView& iteration : view.iterations) add(iteration);
  add(view.outside);
  return rivals;
}

namespace {

/// Findings on builds, once for each subject.
void add_build_findings(const SessionView& view, std::vector<Finding>& findings) {
  std::set<std::string> told;
  const auto add = [&](const IterationView& iteration) {
    for (const session::Fact& built : iteration.built) {
      const std::string subject = text_of(built.payload, "subject");
      const Json& ptxas = member_of(built.payload, "ptxas");
      if (!ptxas.is_object() || !told.insert(subject).second) continue;
      const auto record = variant::ptxas_record_from_json(ptxas);
      if (!record.ok()) continue;
      for (Finding& finding : analyze::build_findings(*record, subject)) {
        finding.figures["subject"] = subject;
        finding.events = {built.seq};
        findings.push_back(std::move(finding));
      }
    }
  };
  for (const IterationView& iteration : view.iterations) add(iteration);
  add(view.outside);
}

/// Recorded findings, without those on builds, which add_build_findings() adds.
void add_recorded(const IterationView& where, std::vector<Finding>& findings) {
  for (const session::Fact& fact : where.findings) {
    Json payload = fact.payload;
    if (payload.is_object()) payload.erase("iteration");
    auto finding = measure::finding_from_json(payload);
    if (!finding.ok() || finding->analysis == "ptxas") continue;
    finding->events.push_back(fact.seq);
    findings.push_back(*std::move(finding));
  }
}

/// Every turn begins with calls that nobody times, until two blocks agree or their time is over;
/// the flag not_settled tells the latter.
void add_warming(const SessionView& view, std::vector<Finding>& findings) {
  for (const auto& [rival, comparisons] : timed_rivals(view)) {
    const auto is_unsettled = [](const session::Fact* one) {
      const auto flags = strings_of(one->payload, "flags");
      return std::find(flags.begin(), flags.end(), measure::k_flag_not_settled) != flags.end();
    };
    const auto unsettled = std::count_if(comparisons.begin(), comparisons.end(), is_unsettled);
    Finding finding;
    finding.analysis = "warming";
    finding.statement = fmt::format(
        "every turn of {} began with calls that nobody timed; its times had settled in {} of {} "
        "comparisons",
        rival, static_cast<std::int64_t>(comparisons.size()) - unsettled, comparisons.size());
    finding.figures = {{"subject", rival},
                       {"state", unsettled == 0 ? "settled" : "warmed"},
                       {"comparisons", comparisons.size()},
                       {"not_settled", unsettled}};
    finding.events = {comparisons.front()->seq, comparisons.back()->seq};
    findings.push_back(std::move(finding));
  }
}

/// The last record of the subject's build, with its event.
void add_build_record(const SessionView& view, analyze::DerivedInput& input) {
  const auto look = [&](const IterationView& part) {
    for (const session::Fact& built : part.built) {
      const Json& ptxas = member_of(built.payload, "ptxas");
      if (text_of(built.payload, "subject") != input.subject || !ptxas.is_object()) continue;
      auto record = variant::ptxas_record_from_json(ptxas);
      if (!record.ok() || record->kernels.empty()) continue;
      input.ptxas = *std::move(record);
      input.build_events = {built.seq};
    }
  };
  for (const IterationView& iteration : view.iterations) look(iteration);
  look(view.outside);
}

/// The findings of the analyses on the evidence. Where nothing was timed the recorded launches are
/// for derived findings only, which ask for problems that may be told.
std::vector<Finding> analyzed_with_launches(const SessionView& view, measure::Evidence& evidence) {
  std::vector<Finding> findings = analyze::analyze(evidence);
  if (evidence.observations.empty()) report::add_recorded_launches(view, evidence);
  return findings;
}

}  // namespace

LogFindings findings_of(const std::vector<catalogue::LaunchRule>& launches, const Session& session,
                        const SessionView& view) {
  report::LogEvidence log = report::log_evidence(view);
  add_products(launches, session, view, log.evidence);
  LogFindings result{analyzed_with_launches(view, log.evidence), std::move(log.gaps), {}};
  if (log.evidence.observations.empty()) {
    if (const IterationView* holder = incumbent_iteration(view))
      add_recorded(*holder, result.findings);
  }
  result.evidence = std::move(log.evidence);
  add_build_findings(view, result.findings);
  add_recorded(view.outside, result.findings);
  add_warming(view, result.findings);
  return result;
}

void add_products(const std::vector<catalogue::LaunchRule>& launches, const Session& session,
                  const SessionView& view, measure::Evidence& evidence) {
  std::set<std::string> subjects;
  for (const measure::Observation& one : evidence.observations) subjects.insert(one.subject);
  for (const std::string& subject : subjects) {
    const auto stored = stored_variant(session, view, subject);
    if (!stored.ok()) continue;
    const variant::Manifest& manifest = stored->first.manifest;
    analyze::add_rule_facts(evidence, subject, manifest, stored->second,
                            catalogue::find_rule(launches, manifest.name));
  }
}

LogFindings iteration_findings(const std::vector<catalogue::LaunchRule>& launches,
                               const Session& session, const SessionView& view,
                               const IterationView& iteration) {
  report::LogEvidence log = report::iteration_evidence(view, iteration);
  add_products(launches, session, view, log.evidence);
  LogFindings result{analyzed_with_launches(view, log.evidence), std::move(log.gaps), {}};
  if (log.evidence.observations.empty()) add_recorded(iteration, result.findings);
  result.evidence = std::move(log.evidence);
  add_build_findings(view, result.findings);
  add_warming(view, result.findings);
  return result;
}

void add_derived(const std::vector<catalogue::LaunchRule>& launches, const Session& session,
                 const SessionView& view, const Target& target, LogFindings& log) {
  const auto stored = stored_variant(session, view, target.subject);
  if (!stored.ok()) return;
  const variant::Manifest& manifest = stored->first.manifest;
  const auto complete = variant::complete_configuration(manifest, stored->second);
  analyze::DerivedInput input;
  input.subject = target.subject;
  input.manifest = &manifest;
  input.configuration = complete.ok() ? *complete : stored->second;
  add_build_record(view, input);
  input.rule = catalogue::find_rule(launches, manifest.name);
  for (const advise::TargetProblem& one : target.problems) input.problems.push_back(one.problem);
  const bool hides = analyze::hides_latency(input);
  for (Finding& finding : log.findings) {
    const bool is_own = finding.analysis == "launch" && finding.figures.is_object() &&
                        text_of(finding.figures, "subject") == target.subject;
    if (is_own && finding.figures.contains("hides_latency")) {
      finding.figures["hides_latency"] = hides;
    }
  }
  std::vector<Finding> derived = analyze::derived_findings(input, log.evidence);
  const bool is_in_series = std::any_of(derived.begin(), derived.end(), [](const Finding& finding) {
    const auto splits = finding.figures.find("splits_keys");
    return splits != finding.figures.end() && *splits == false;
  });
  for (Finding& finding : derived) {
    // Blocks that share a tile of rows share its columns where the kernel never splits the keys.
    if (is_in_series && finding.analysis == "launch_rule") {
      finding.figures["walks_in_series"] = true;
    }
    log.findings.push_back(std::move(finding));
  }
}

}  // namespace wb::verbs
