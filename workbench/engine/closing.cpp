// SPDX-License-Identifier: MIT
// The last stages: findings, pages, iteration_closed, commit, and the session's report.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyze/analysis.hpp"
#include "analyze/compiled_code.hpp"
#include "analyze/profile_facts.hpp"
#include "core/hash.hpp"
#include "engine/building.hpp"
#include "engine/milestones.hpp"
#include "engine/recorded.hpp"
#include "engine/timing.hpp"
#include "report/evidence.hpp"
#include "report/report.hpp"

namespace wb::engine {

using measure::Evidence;
using measure::Finding;
using session::Fact;
using session::FoldDepth;
using session::IterationView;
using session::Ledger;
using session::SessionView;

namespace {

std::string speedup_text(const Json& closed) {
  const auto found = closed.find("speedup");
  if (found == closed.end() || !found->is_number()) return "none";
  return fmt::format("{:.4f}", found->get<double>());
}

std::string cost_text(const Ledger& ledger) {
  const Ledger::Total total = ledger.total();
  return total.complete ? fmt::format("${:.4f}", total.usd) : "rate not given";
}

double device_seconds(const Ledger& ledger) {
  const auto found = ledger.items.find(session::CostItem::device);
  return found == ledger.items.end() ? 0.0 : found->second.quantity;
}

/// The artifact's builds there, in the order of the log.
std::vector<std::int64_t> events_of_builds(const IterationView& where,
                                           const std::string& artifact_id) {
  std::vector<std::int64_t> events;
  for (const Fact& built : where.built) {
    if (built.payload.value("artifact_id", "") == artifact_id) events.push_back(built.seq);
  }
  return events;
}

/// Whether a finding there of that analysis rests on one of the events.
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

/// What the compiler said of the subject, and what tools saw so far of it and of those beside it.
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
  return {};
}

}  // namespace

Result<void> record_build_findings(Context& context, const Subject& subject) {
  if (!context.session || subject.artifact.record.ptxas.empty()) return {};
  std::vector<Finding> findings =
      analyze::build_findings(subject.artifact.record.ptxas, subject.label);
  if (findings.empty()) return {};
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::full));
  const IterationView* iteration = view->find(context.iteration);
  const IterationView& where = iteration == nullptr ? view->outside : *iteration;
  const auto builds = events_of_builds(where, subject.artifact.id);
  if (has_finding(where, findings.front().analysis, builds)) return {};  // it was used before
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
  if (context.hello) {
    evidence.device = context.hello->device;
    evidence.call_overhead_us = context.hello->empty_call_us;
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
        // The same code beside itself (A/A) is not what it is held against.
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

Result<std::vector<Finding>> record_findings(Context& context, const TimingRequest& request,
                                             const TimingResult& result, std::size_t subject) {
  Evidence evidence = evidence_of(context, request, result, subject);
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

Result<std::string> close_iteration(Context& context, const IterationEnd& end) {
  const auto number = end.closed["iteration"].get<std::int64_t>();
  WB_TRY_ASSIGN(const SessionView* current, context.session->current(FoldDepth::full));
  const SessionView& view = *current;
  const IterationView* found = view.find(number);
  if (found == nullptr) {
    return Error{ErrorCode::internal, "close", fmt::format("iteration {}", number),
                 "it is not in the log", ""};
  }
  // The pages are named by iteration_closed, so they are rendered as if it stood there already.
  IterationView iteration = *found;
  iteration.closed = Fact{0, to_iso8601(context.services.clock.now()), end.closed};
  const std::string base = session::iteration_name(number);
  session::Session::Closing closing;
  closing.iteration = number;
  closing.closed = end.closed;
  closing.pages = {{base + ".md", report::render_iteration(view, iteration)},
                   {base + ".json", report::iteration_json(view, iteration).dump(2) + "\n"}};
  closing.variant_id = end.variant_id;
  const auto outcome = end.closed["outcome"].get<std::string>();
  closing.subject = fmt::format("Iteration {}: {} ({})", number,
                                end.variant_label.empty() ? "-" : end.variant_label, outcome);
  closing.trailers = {
      {"Iteration", fmt::to_string(number)},
      {"Variant", end.variant_label.empty() ? "none" : end.variant_label},
      {"Artifact", end.artifact_id.empty() ? "none" : short_hash(end.artifact_id)},
      {"Outcome", outcome},
      {"Speedup", speedup_text(end.closed)},
      {"Predicted",
       end.predicted_speedup ? fmt::format("{:.4f}", *end.predicted_speedup) : std::string("none")},
      {"Device-Seconds", fmt::format("{:.3f}", device_seconds(iteration.ledger))},
      {"Cost", cost_text(iteration.ledger)},
      {"Log-Head", context.session->log().head()}};
  WB_TRY_ASSIGN(std::string oid, context.session->close_iteration(closing));
  WB_TRY(write_session_report(context));
  WB_TRY(tell_iteration(context, end.closed, end.variant_label));
  return oid;
}

Result<void> abandon_in_flight(Context& context, const SessionView& view, std::string_view reason) {
  const IterationView* open = view.in_flight();
  if (open == nullptr) return {};
  WB_TRY(context.debit_device("abandoned"));
  WB_TRY(close_iteration(context, {.closed = {{"iteration", open->number},
                                              {"outcome", "abandoned"},
                                              {"invalidity", nullptr},
                                              {"message", reason},
                                              {"speedup", nullptr},
                                              {"interval", nullptr}},
                                   .variant_id = "",
                                   .variant_label = open->opened.payload.value("variant", ""),
                                   .artifact_id = "",
                                   .predicted_speedup = {}}));
  return {};
}

Result<void> write_session_report(Context& context) {
  WB_TRY_ASSIGN(const SessionView* current, context.session->current(FoldDepth::full));
  return context.session->write_report("session.md", report::render_session(*current));
}

}  // namespace wb::engine
