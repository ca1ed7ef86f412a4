// SPDX-License-Identifier: MIT
#include "engine/evidence.hpp"

#include <algorithm>
#include <set>

#include "analyze/analysis.hpp"
#include "analyze/compiled_code.hpp"
#include "analyze/derived.hpp"
#include "analyze/evidence.hpp"
#include "catalogue/launches.hpp"
#include "core/json.hpp"
#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/worker.hpp"
#include "measure/statistics.hpp"
#include "report/evidence.hpp"

namespace wb::engine {

using measure::Evidence;
using measure::Finding;
using problem::Problem;
using session::Fact;
using session::FoldDepth;
using session::IterationView;
using session::SessionView;

namespace {

/// The longest time that a hung profiler can delay a session.
constexpr std::int64_t k_kernel_names_deadline_ms = 60'000;

Outcome<protocol::ProfileResult> ask(Context& context, std::int64_t handle, const Problem& problem,
                                     std::string_view tool) {
  auto worker = context.worker->need();
  if (!worker) return worker.error();
  protocol::ProfileArgs args;
  args.handle = handle;
  args.problem = problem;
  args.tool = std::string(tool);
  if (tool == protocol::k_kernel_names_tool) args.deadline_ms = k_kernel_names_deadline_ms;
  return (*worker)->profile(args);
}

/// Every answer is an event.
Result<void> log_look(Context& context, const Subject& subject, const Problem& problem,
                      std::string_view tool, const Outcome<protocol::ProfileResult>& result) {
  const bool has_result = static_cast<bool>(result);
  WB_TRY(context.log("profile_taken",
                     {{"iteration", context.iteration_or_null()},
                      {"subject", subject.label},
                      {"problem", to_text(problem)},
                      {"tool", tool},
                      {"available", has_result && result->available},
                      {"reason", has_result ? result->reason : result.error().message},
                      {"records", has_result ? result->records : Json::object()}}));
  return {};
}

/// The artifact's builds in this iteration, in log order.
std::vector<std::int64_t> events_of_builds(const IterationView& where,
                                           const std::string& artifact_id) {
  std::vector<std::int64_t> events;
  for (const Fact& built : where.built) {
    if (built.payload.value("artifact_id", "") == artifact_id) events.push_back(built.seq);
  }
  return events;
}

/// True when a finding of that analysis there cites one of the events.
bool has_finding(const IterationView& where, std::string_view analysis,
                 const std::vector<std::int64_t>& events) {
  return std::any_of(where.findings.begin(), where.findings.end(), [&](const Fact& finding) {
    if (finding.payload.value("analysis", "") != analysis) return false;
    const Json& cited = member_of(finding.payload, "events");
    return std::any_of(events.begin(), events.end(), [&](std::int64_t event) {
      return std::find(cited.begin(), cited.end(), Json(event)) != cited.end();
    });
  });
}

/// Adds compiler facts of the subject, and tools' results on it and the subjects beside it.
Result<void> add_kernels(const Context& context, const Subject& subject, Evidence& evidence) {
  if (!context.session) return {};
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::full));
  std::set<std::string> subjects{subject.label};
  for (const measure::Observation& other : evidence.beside) subjects.insert(other.subject);
  report::add_profiles(*view, subjects, evidence);
  const IterationView* here = view->find(context.iteration);
  const IterationView& where = here == nullptr ? view->outside : *here;
  analyze::add_ptxas(evidence, subject.artifact.record.ptxas, subject.label,
                     events_of_builds(where, subject.artifact.id));
  report::add_recorded_launches(*view, evidence);
  return {};
}

}  // namespace

Result<Outcome<protocol::ProfileResult>> inspect_call(Context& context, const Subject& subject,
                                                      const Problem& problem,
                                                      std::string_view tool) {
  WB_TRY(context.check_stop());
  SubjectProcesses processes(context);
  const auto load_and_ask = [&]() -> Outcome<protocol::ProfileResult> {
    auto worker = context.worker->need();
    if (!worker) return worker.error();
    auto loaded = (*worker)->load(subject.variant, subject.artifact);
    if (!loaded) return loaded.error();
    processes.handles.emplace_back(loaded->handle);
    return ask(context, loaded->handle, problem, tool);
  };
  Outcome<protocol::ProfileResult> result = load_and_ask();
  WB_TRY(log_look(context, subject, problem, tool, result));
  return result;
}

Result<void> log_kernel_names(Context& context, const Subject& subject,
                              const std::vector<Problem>& problems, std::int64_t handle) {
  const bool on_gpu = context.worker->device && context.worker->device->backend == "cuda";
  if (!on_gpu || subject.variant.manifest.backend != variant::Backend::python) return {};
  for (const Problem& problem : problems) {
    if (not_supported(subject, problem)) continue;
    WB_TRY(context.check_stop());
    const auto result = ask(context, handle, problem, protocol::k_kernel_names_tool);
    WB_TRY(log_look(context, subject, problem, protocol::k_kernel_names_tool, result));
    if (!result) break;  // its process has ended
  }
  return {};
}

Result<void> record_build_findings(Context& context, const Subject& subject) {
  if (!context.session || subject.artifact.record.ptxas.empty()) return {};
  std::vector<Finding> findings =
      analyze::build_findings(subject.artifact.record.ptxas, subject.label);
  if (findings.empty()) return {};
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::full));
  const IterationView* iteration = view->find(context.iteration);
  const IterationView& where = iteration == nullptr ? view->outside : *iteration;
  const auto builds = events_of_builds(where, subject.artifact.id);
  if (has_finding(where, findings.front().analysis, builds)) return {};  // logged before
  for (Finding& finding : findings) {
    if (!builds.empty()) finding.events = {builds.back()};
    Json payload = to_json(finding);
    payload["iteration"] = context.iteration_or_null();
    WB_TRY(context.log("finding_recorded", std::move(payload)));
  }
  return {};
}

Evidence evidence_of(const Context& context, const TimingRequest& request,
                     const TimingResult& result, std::size_t subject) {
  constexpr std::uint64_t k_seed = 11;
  Evidence evidence;
  if (context.worker->hello) {
    evidence.device = context.worker->hello->device;
    evidence.call_overhead_us = context.worker->hello->empty_call_us;
  }
  for (std::size_t p = 0; p < request.problems.size(); ++p) {
    for (std::size_t k = 0; k < request.plans.size(); ++k) {
      const auto& lanes = result.lanes[p][k];
      const auto observe = [&](std::size_t s) {
        return measure::Observation{.problem = request.problems[p],
                                    .subject = request.subjects[s]->label,
                                    .plan = request.plans[k],
                                    .measurement = {},
                                    .events = {result.events[p].first, result.events[p].second},
                                    .conditions = conditions_of(lanes[s])};
      };
      if (lanes[subject].failure || lanes[subject].turns.empty()) continue;
      evidence.observations.push_back(observe(subject));
      evidence.observations.back().measurement = measure::summarize(lanes[subject].turns, k_seed);
      for (std::size_t s = 0; s < lanes.size(); ++s) {
        // The same code beside itself (A/A) is no reference.
        const bool is_other = request.subjects[s]->label != request.subjects[subject]->label;
        if (is_other && !lanes[s].failure && !lanes[s].turns.empty()) {
          evidence.beside.push_back(observe(s));
          evidence.beside.back().measurement.median_us = lane_median_us(lanes[s]);
        }
      }
    }
  }
  return evidence;
}

void add_rule_facts(const Context& context, const Subject& subject, Evidence& evidence) {
  auto loaded =
      catalogue::load_launches(context.services.file_system, context.services.search_path);
  const auto rules = loaded.ok() ? *std::move(loaded) : std::vector<catalogue::LaunchRule>();
  const variant::Manifest& manifest = subject.variant.manifest;
  analyze::add_rule_facts(evidence, subject.label, manifest, subject.configuration,
                          catalogue::find_rule(rules, manifest.name));
}

Result<std::vector<Finding>> record_findings(Context& context, const TimingRequest& request,
                                             const TimingResult& result, std::size_t subject) {
  Evidence evidence = evidence_of(context, request, result, subject);
  add_rule_facts(context, *request.subjects[subject], evidence);
  WB_TRY(add_kernels(context, *request.subjects[subject], evidence));
  const bool is_first = request.phase == "baseline";
  std::vector<Finding> findings = analyze::analyze(
      evidence, is_first ? analyze::AnalysisScope::all : analyze::AnalysisScope::of_candidate);
  for (const Finding& finding : findings) {
    Json event = to_json(finding);
    event["iteration"] = context.iteration_or_null();
    WB_TRY(context.log("finding_recorded", std::move(event)));
  }
  return findings;
}

}  // namespace wb::engine
