// SPDX-License-Identifier: MIT
// `diagnose --measure`: the measurements that undecided causes need and the engine can make,
// varying one quantity at a time: more heads, more keys, calls from the host, a profile, the
// machine code. Each logs its turns or inspection and the findings based on them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyze/analysis.hpp"
#include "analyze/disassembly.hpp"
#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/evidence.hpp"
#include "engine/settings.hpp"
#include "engine/spending.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/verdicts.hpp"
#include "report/report.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/shown.hpp"
#include "verbs/single_stages.hpp"
#include "verbs/situation.hpp"
#include "verbs/suite_selection.hpp"

namespace wb::verbs {

using engine::Context;
using engine::effort_plan;
using engine::EffortPlan;
using engine::ends_session;
using engine::Subject;
using engine::TimingRequest;
using engine::TimingResult;
using measure::Finding;
using problem::Problem;

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> k_analysis_of{
    {{"heads", "grid_scaling"}, {"keys", "key_walk"}, {"eager", "call_cost"}}};

/// The suite's problem that probes vary; nothing when all are held out.
std::optional<Problem> base_problem(const problem::Suite& suite) {
  const std::vector<Problem> plain = plain_problems(suite);
  std::vector<const Problem*> all;
  for (const Problem& problem : plain) all.push_back(&problem);
  const Problem* smallest = advise::smallest_problem(all);
  return smallest == nullptr ? std::nullopt : std::optional(*smallest);
}

Result<void> log_finding(Context& context, const Finding& finding) {
  Json event = to_json(finding);
  event["iteration"] = context.iteration_or_null();
  WB_TRY(context.log("finding_recorded", std::move(event)));
  return {};
}

Json row_of(const std::string& probe, const char* outcome, std::string message) {
  return {{"probe", probe}, {"outcome", outcome}, {"message", std::move(message)}};
}

/// Times the incumbent on the probe's problems, after its verdict, and runs the probe's analysis.
Result<Json> time_probe(Context& context, const std::string& probe, const Problem& base,
                        const Json& args) {
  const Subject& subject = *context.incumbent;
  std::vector<Problem> problems;
  for (Problem& problem : probe_problems(base, probe)) {
    if (!not_supported(subject, problem)) problems.push_back(std::move(problem));
  }
  if (problems.empty()) return row_of(probe, "not_supported", "the variant takes none of them");
  WB_TRY_ASSIGN(const auto judged, judge_or_fail(context, subject, problems));
  TimingRequest request;
  const EffortPlan effort = effort_plan(args.value("effort", "quick"));
  request.effort = effort.confirmation;
  request.plan = effort.plan;
  request.plans = {measure::PlanKind::hot};
  if (probe == "eager") request.plans.push_back(measure::PlanKind::eager);
  request.problems = problems;
  request.phase = "standalone";
  request.subjects = {&subject};
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  std::size_t found = 0;
  const auto* wanted = std::find_if(k_analysis_of.begin(), k_analysis_of.end(),
                                    [&](const auto& pair) { return pair.first == probe; });
  for (const Finding& finding : analyze::analyze(evidence_of(context, request, result, 0))) {
    if (finding.analysis != wanted->second) continue;
    WB_TRY(log_finding(context, finding));
    ++found;
  }
  for (const auto& by_problem : result.lanes) {
    for (const auto& by_plan : by_problem) {
      if (by_plan[0].failure) {
        return row_of(probe, "failed", by_plan[0].failure->message);
      }
    }
  }
  return row_of(probe, found > 0 ? "measured" : "open",
                found > 0 ? std::string()
                          : fmt::format("the times of {} decide nothing: the device is full, or "
                                        "too few sizes are supported",
                                        label(base)));
}

Result<Json> profile_probe(Context& context, const Problem& base) {
  WB_TRY_ASSIGN(const Json taken, profile_variant(context, {{"variant", context.incumbent->label},
                                                            {"problem", to_text(base)}}));
  const bool is_taken = taken["taken"].get<bool>();
  return row_of("profile", is_taken ? "measured" : "failed",
                is_taken ? "" : taken["problems"].at(0)["message"].get<std::string>());
}

Result<Json> code_probe(Context& context) {
  const std::string& subject = context.incumbent->label;
  WB_TRY_ASSIGN(const Json shown,
                show_code(context, &*context.session, {{"id", subject}, {"sass", true}}));
  WB_TRY_ASSIGN(const auto kernels, analyze::read_sass(shown["text"].get<std::string>()));
  for (Finding& finding : analyze::sass_findings(kernels)) {
    finding.figures["subject"] = subject;
    WB_TRY(log_finding(context, finding));
  }
  return row_of("sass", "measured", "");
}

Result<Json> take(Context& context, const std::string& probe, const Problem& base,
                  const Json& args) {
  if (probe == "profile") return profile_probe(context, base);
  if (probe == "sass") return code_probe(context);
  return time_probe(context, probe, base, args);
}

/// Probes of causes that no measurement decided yet, without duplicates, in order of importance.
std::vector<std::string> probes_of(const DecidedCauses& decided) {
  std::vector<std::string> probes;
  for (const advise::Diagnosis& diagnosis : decided.diagnoses) {
    const bool is_measured =
        diagnosis.strength && diagnosis.strength != catalogue::RuleStrength::derived;
    if (is_measured) continue;
    for (const catalogue::CauseNeed& need : diagnosis.cause->needs) {
      const bool is_known = std::find(probes.begin(), probes.end(), need.probe) != probes.end();
      const bool is_of_gpu = need.probe == "profile" || need.probe == "sass";
      if (need.probe.empty() || is_known) continue;
      if (is_of_gpu && decided.target.backend != "cuda") continue;
      probes.push_back(need.probe);
    }
  }
  return probes;
}

}  // namespace

Result<Json> diagnose_measuring(Context& context, const Json& args) {
  if (!context.incumbent) {
    return Error{ErrorCode::invalid, "diagnose", context.session->folder().string(),
                 "its baseline never closed", "run `sdpa-wb resume` first"};
  }
  WB_TRY_ASSIGN(const session::SessionView* view,
                context.session->current(session::FoldDepth::full));
  WB_TRY_ASSIGN(const advise::Situation situation, situation_of(*context.session, *view));
  WB_TRY_ASSIGN(const DecidedCauses before,
                decide_causes(context.services, *context.session, *view, situation));
  Json measured = Json::array();
  const std::optional<Problem> base = base_problem(context.settings.suite);
  for (const std::string& probe : base ? probes_of(before) : std::vector<std::string>()) {
    auto row = take(context, probe, *base, args);
    WB_TRY(context.check_stop());
    if (!row && ends_session(row.error().code)) return row.error();
    measured.push_back(row ? *std::move(row) : row_of(probe, "failed", row.error().message()));
  }
  WB_TRY(context.spending->debit_device("diagnose"));
  WB_TRY(record_causes(context));
  WB_TRY_ASSIGN(Json made, diagnose_session(context.services, *context.session, Json::object()));
  made["measured"] = std::move(measured);
  made["text"] = report::render_causes(made);
  return made;
}

}  // namespace wb::verbs
