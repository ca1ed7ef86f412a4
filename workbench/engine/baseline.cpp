// SPDX-License-Identifier: MIT
// Iteration 0: the start and its rivals are built and judged, the A/A noise floors are measured
// with two processes of the same code per instance, and start and rivals are timed beside each
// other.
#include "engine/baseline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/closing.hpp"
#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/evidence.hpp"
#include "engine/floors.hpp"
#include "engine/recorded.hpp"
#include "engine/settings.hpp"
#include "engine/spending.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/verdicts.hpp"
#include "engine/worker.hpp"
#include "problem/suite.hpp"

namespace wb::engine {

using measure::PlanKind;
using problem::Problem;
using variant::Variant;

namespace {

bool takes_any(const Variant& variant, const std::vector<Problem>& problems) {
  return std::any_of(problems.begin(), problems.end(), [&variant](const Problem& problem) {
    return !variant::unsupported_reason(variant.manifest, problem);
  });
}

Error baseline_error(ErrorCode code, const std::string& subject, std::string cause) {
  const bool is_machine = code == ErrorCode::environment;
  return Error{code, "measure the baseline of", subject, std::move(cause),
               is_machine ? "nothing is held against it: `sdpa-wb resume` measures it again"
                          : "fix the variant (see `sdpa-wb check`) or start from another kernel"};
}

ErrorCode code_of(Invalidity invalidity) {
  switch (invalidity) {
    case Invalidity::compile:
      return ErrorCode::compile;
    case Invalidity::correctness:
      return ErrorCode::wrong_result;
    case Invalidity::timeout:
      return ErrorCode::limit;
    case Invalidity::environment:
      return ErrorCode::environment;
    case Invalidity::constraints:
      return ErrorCode::invalid;
    case Invalidity::runtime:
      return ErrorCode::wrong_result;
  }
  return ErrorCode::internal;
}

/// An explicitly requested rival that cannot run is an error, since the session's report would lack
/// the requested figure hours later.
Error missing_rival(const std::string& name, std::string cause) {
  return Error{ErrorCode::environment, "measure the rival", name, std::move(cause),
               "nothing is held against it: mend the machine (`sdpa-wb doctor`), then `sdpa-wb "
               "resume`; or open a session without that rival"};
}

/// Leaves out rivals that fail or support no problem, and problems that a rival refuses; their
/// events say why. Default rivals that this machine cannot run are left out too.
Result<std::vector<Subject>> prepare_rivals(Context& context) {
  std::vector<Variant> variants;
  for (const std::string& name : context.settings.rivals) {
    WB_TRY_ASSIGN(Variant variant, context.catalogue.find(name));
    variants.push_back(std::move(variant));
  }
  const std::vector<Problem> problems = plain_problems(context.settings.suite);
  if (auto& client = context.worker->client) {
    client->announce_python(
        std::count_if(variants.begin(), variants.end(), [&problems](const Variant& variant) {
          return variant.manifest.backend == variant::Backend::python &&
                 takes_any(variant, problems);
        }));
  }
  std::vector<Subject> rivals;
  for (const Variant& variant : variants) {
    WB_TRY_ASSIGN(Outcome<Subject> rival, build_and_log(context, variant, {}));
    const bool is_asked_for = context.settings.are_rivals_asked_for;
    if (!rival) {
      const Failure& failure = rival.error();
      if (is_asked_for && failure.invalidity == Invalidity::environment) {
        return missing_rival(variant.manifest.name, failure.message);
      }
      continue;
    }
    rival->label = variant.manifest.name;  // a rival uses its plain name
    // The judged process is not timed, so a profiler may inspect it afterwards.
    SubjectProcesses judged(context);
    WB_TRY_ASSIGN(
        const auto judgements,
        judge_subject(context, *rival, problems, VerdictExtent::whole, &judged, Refusal::excludes));
    const auto takes_it = [](const Judgement& judgement) { return judgement.supported; };
    const auto failure = first_failure(judgements);
    if (is_asked_for && failure && failure->invalidity == Invalidity::environment) {
      return missing_rival(rival->label, failure->message);
    }
    if (failure || std::none_of(judgements.begin(), judgements.end(), takes_it)) {
      continue;
    }
    for (const Judgement& judgement : judgements) {
      if (judgement.supported) continue;
      rival->refused.emplace(to_text(judgement.problem), judgement.message);
    }
    refuse_held_out(*rival, context.settings.suite);
    if (!judged.handles.empty() && judged.handles.front()) {
      WB_TRY(log_kernel_names(context, *rival, problems, *judged.handles.front()));
    }
    rivals.push_back(*std::move(rival));
  }
  if (auto& client = context.worker->client) client->announce_python(0);
  return rivals;
}

/// The rows of open's result: start and rivals on each problem and plan. A missing figure is null,
/// and the message says why.
Json baseline_rows(const TimingRequest& request, const TimingResult& result) {
  Json rows = Json::array();
  for (std::size_t p = 0; p < request.problems.size(); ++p) {
    for (std::size_t k = 0; k < request.plans.size(); ++k) {
      const auto& lanes = result.lanes[p][k];
      Json row{{"problem", label(request.problems[p])},
               {"plan", to_string(request.plans[k])},
               {"start_us", figure_or_null(lane_median_us(lanes[0]))},
               {"rivals_us", Json::object()},
               {"message", ""}};
      std::vector<std::string> missing;
      const auto note = [&](std::size_t s) {
        const std::string why = why_no_figure(lanes[s]);
        if (!why.empty()) missing.push_back(request.subjects[s]->label + ": " + why);
      };
      note(0);
      for (std::size_t s = 2; s < request.subjects.size(); ++s) {
        if (lanes[s].turns.empty() && !lanes[s].failure) continue;  // not supported
        row["rivals_us"][request.subjects[s]->label] = figure_or_null(lane_median_us(lanes[s]));
        note(s);
      }
      row["message"] = fmt::format("{}", fmt::join(missing, "; "));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

Result<std::pair<Variant, variant::Configuration>> find_start(Context& context) {
  const SessionSettings& settings = context.settings;
  if (!settings.stored_start) return resolve_variant(context, settings.start_variant);
  WB_TRY_ASSIGN(Variant variant, load_stored(*context.session, settings.start_variant,
                                             settings.stored_start->first));
  return std::pair{std::move(variant), settings.stored_start->second};
}

Result<Subject> prepare_start(Context& context) {
  const std::string& name = context.settings.start_variant;
  WB_TRY_ASSIGN(const auto resolved, find_start(context));
  WB_TRY_ASSIGN(Outcome<Subject> start, build_and_log(context, resolved.first, resolved.second));
  if (!start) return baseline_error(code_of(start.error().invalidity), name, start.error().message);
  const std::vector<Problem> problems = plain_problems(context.settings.suite);
  for (const Problem& problem : problems) {
    if (auto reason = not_supported(*start, problem)) {
      return baseline_error(ErrorCode::invalid, name,
                            fmt::format("it does not take {}: {}", label(problem), *reason));
    }
  }
  WB_TRY_ASSIGN(const auto judgements,
                judge_subject(context, *start, problems, VerdictExtent::whole, nullptr,
                              Refusal::fails, drawn_runs(context, *start, context.settings.suite)));
  WB_TRY(context.check_stop());
  if (auto failure = first_failure(judgements)) {
    return baseline_error(code_of(*failure->invalidity), name,
                          fmt::format("{} on {}: {}", to_string(*failure->invalidity),
                                      label(*failure), failure->message));
  }
  return *std::move(start);
}

Result<Json> measure_baseline(Context& context, std::int64_t number) {
  context.iteration = number;
  WB_TRY(context.log("iteration_opened", {{"iteration", number},
                                          {"parent", nullptr},
                                          {"variant", context.settings.start_variant},
                                          {"variant_id", ""},
                                          {"configuration", Json::object()},
                                          {"hypothesis", nullptr},
                                          {"techniques", Json::array()}}));
  WB_TRY_ASSIGN(Subject start, prepare_start(context));
  WB_TRY_ASSIGN(context.rivals, prepare_rivals(context));
  TimingRequest request;
  request.subjects = {&start, &start};
  for (const Subject& rival : context.rivals) request.subjects.push_back(&rival);
  request.problems = plain_problems(context.settings.suite);
  request.plans = {PlanKind::hot, PlanKind::cold, PlanKind::eager};
  const EffortPlan effort = effort_plan(context.settings.effort);
  request.effort = effort.confirmation;
  request.other_instances = effort.other_instances;
  request.plan = effort.plan;
  request.regime = context.settings.objective.regime;
  request.phase = "baseline";
  request.first_calls = true;
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  WB_TRY(context.check_stop());
  for (const auto& problem : result.lanes) {
    if (problem[0][0].failure) {
      return baseline_error(code_of(problem[0][0].failure->invalidity),
                            context.settings.start_variant, problem[0][0].failure->message);
    }
  }
  WB_TRY(record_floors(context, request, result));
  WB_TRY(log_comparisons(context, request, result, 2));
  Json rows = baseline_rows(request, result);
  WB_TRY(record_findings(context, request, result, 0));
  WB_TRY(context.log("incumbent_changed", {{"iteration", number},
                                           {"from", nullptr},
                                           {"to", start.label},
                                           {"variant_id", start.variant.id},
                                           {"artifact_id", start.artifact.id},
                                           {"configuration", variant::to_json(start.configuration)},
                                           {"speedup", nullptr},
                                           {"interval", nullptr}}));
  WB_TRY(context.spending->debit_device("baseline"));
  const Json closed{
      {"iteration", number},
      {"outcome", "baseline"},
      {"invalidity", nullptr},
      {"message", fmt::format("{} measured on {} problems beside {} rival{}", start.label,
                              request.problems.size(), context.rivals.size(),
                              context.rivals.size() == 1 ? "" : "s")},
      {"speedup", nullptr},
      {"interval", nullptr}};
  WB_TRY(close_iteration(context, {.closed = closed,
                                   .variant_id = start.variant.id,
                                   .variant_label = start.label,
                                   .artifact_id = start.artifact.id,
                                   .predicted_speedup = {}}));
  context.incumbent = std::move(start);
  context.iteration = -1;
  return rows;
}

}  // namespace

Result<Json> run_baseline(Context& context, std::int64_t number) {
  Result<Json> rows = measure_baseline(context, number);
  // One that fails has used the device all the same; its own error is the one to report.
  if (!rows) (void)context.spending->debit_device("baseline");
  return rows;
}

}  // namespace wb::engine
