// SPDX-License-Identifier: MIT
// `diagnose --measure`: the measurements that undecided causes need and the engine can make,
// varying one quantity at a time: more heads, more keys, calls from the host, emptied caches, a
// profile, the machine code. Each logs its turns or inspection and the findings based on them.
// `close --measure` takes those of the causes that are still open, within a budget.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

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
using engine::restore_context;
using engine::Subject;
using engine::TimingRequest;
using engine::TimingResult;
using measure::Finding;
using problem::Problem;

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> k_analysis_of{
    {{"heads", "grid_scaling"},
     {"keys", "key_walk"},
     {"eager", "call_cost"},
     {"cold", "roofline_share"}}};

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
  if (probe == "cold") request.plans = {measure::PlanKind::cold};
  request.problems = problems;
  request.phase = "standalone";
  request.subjects = {&subject};
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  std::size_t found = 0;
  const auto* wanted = std::find_if(k_analysis_of.begin(), k_analysis_of.end(),
                                    [&](const auto& pair) { return pair.first == probe; });
  measure::Evidence evidence = evidence_of(context, request, result, 0);
  add_rule_facts(context, subject, evidence);
  for (const Finding& finding : analyze::analyze(evidence)) {
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
      if (need.probe.empty() || is_known || !advise::can_be_taken(need, decided.target)) continue;
      probes.push_back(need.probe);
    }
  }
  return probes;
}

/// A measurement with the open causes that wait for it.
struct Wanted {
  std::string probe, command;  ///< probe "": none of --measure
  std::vector<std::string> causes;
};

std::vector<Wanted> wanted_by(const DecidedCauses& decided) {
  std::vector<Wanted> all;
  for (const advise::Diagnosis& diagnosis : decided.diagnoses) {
    if (diagnosis.state != measure::HypothesisState::undecided) continue;
    const auto& by = diagnosis.decided_by;
    const std::string probe = by ? by->probe : "", command = by ? by->command : "";
    const auto known = std::find_if(all.begin(), all.end(), [&](const Wanted& one) {
      return probe.empty() ? one.probe.empty() && one.command == command : one.probe == probe;
    });
    if (known != all.end()) {
      known->causes.push_back(diagnosis.cause->id);
    } else {
      all.push_back({probe, command, {diagnosis.cause->id}});
    }
  }
  return all;
}

/// What of `budget_s` may still be used, and by which limit.
struct Allowance {
  double left_s = 0;
  std::string words;
};

Allowance allowance_of(const Context& context, double budget_s, double used_s) {
  Allowance allowance{budget_s - used_s,
                      fmt::format("{:g} s were given and {:.3g} s are used", budget_s, used_s)};
  const auto& wall_s = context.settings.budget.wall_s;
  if (!wall_s) return allowance;
  const double left_s = *wall_s - context.elapsed_s();
  if (left_s < allowance.left_s) {
    allowance = {left_s, fmt::format("of the session's {:g} s of wall time {:.3g} s are left",
                                     *wall_s, std::max(left_s, 0.0))};
  }
  return allowance;
}

/// Why a measurement is not begun; empty: it is.
std::string not_begun(const Allowance& allowance, double longest_s) {
  if (!(allowance.left_s > 0)) return allowance.words;
  if (longest_s <= allowance.left_s) return {};
  return fmt::format("{}; the longest so far took {:.3g} s", allowance.words, longest_s);
}

}  // namespace

Result<Json> measure_before_close(Context& context, double budget_s) {
  Json rows = Json::array();
  WB_TRY_ASSIGN(const session::SessionView* view,
                context.session->current(session::FoldDepth::full));
  if (view->incumbent.empty()) return rows;
  const auto situation = situation_of(*context.session, *view);
  if (!situation) return rows;
  const auto decided = decide_causes(context.services, *context.session, *view, *situation);
  if (!decided) return rows;  // the closing notes why there are no causes
  const std::vector<Wanted> wanted = wanted_by(*decided);
  std::string fault;
  const bool is_any_taken =
      budget_s > 0 && std::any_of(wanted.begin(), wanted.end(),
                                  [](const Wanted& one) { return !one.probe.empty(); });
  const auto begun = context.services.clock.steady_now();
  if (is_any_taken && !context.incumbent) {
    const auto restored = restore_context(context);
    if (!restored && ends_session(restored.error().code)) return restored.error();
    if (!restored) fault = restored.error().message();
  }
  const std::optional<Problem> base = base_problem(context.settings.suite);
  if (!base && fault.empty()) fault = "every problem of the suite is held out";
  const auto seconds_since = [&context](std::chrono::steady_clock::time_point from) {
    return std::chrono::duration<double>(context.services.clock.steady_now() - from).count();
  };
  double longest_s = 0;
  for (const Wanted& one : wanted) {
    Json row;
    std::string reason;
    if (one.probe.empty()) {
      reason = one.command.empty() ? "nothing that can be measured here decides it"
                                   : "it is not taken at the end: run `" + one.command + "`";
    } else {
      reason = not_begun(allowance_of(context, budget_s, seconds_since(begun)), longest_s);
      if (reason.empty()) reason = fault;
    }
    if (reason.empty()) {
      const auto from = context.services.clock.steady_now();
      auto taken = take(context, one.probe, *base, Json::object());
      WB_TRY(context.check_stop());
      if (!taken && ends_session(taken.error().code)) return taken.error();
      row = taken ? *std::move(taken) : row_of(one.probe, "failed", taken.error().message());
      longest_s = std::max(longest_s, seconds_since(from));
    } else {
      row = row_of(one.probe, "not_taken", reason);
    }
    if (one.probe.empty()) row["probe"] = nullptr;
    row["causes"] = one.causes;
    rows.push_back(std::move(row));
  }
  return rows;
}

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
