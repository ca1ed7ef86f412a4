// SPDX-License-Identifier: MIT
// The order of the stages, as docs/architecture.md shows it. Every path closes the iteration.
#include "engine/iteration.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/json.hpp"
#include "engine/candidate_timing.hpp"
#include "engine/closing.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/spending.hpp"
#include "engine/subject.hpp"
#include "engine/verdicts.hpp"
#include "engine/worker.hpp"
#include "measure/prediction.hpp"

namespace wb::engine {

using measure::HypothesisDecision;
using session::FoldDepth;
using session::SessionView;
using variant::Variant;

namespace {

Json interval_or_null(const std::optional<measure::Comparison>& total) {
  if (!total || !(total->interval.low > 0)) return nullptr;
  return to_json(total->interval);
}

struct DecidedHypothesis {
  HypothesisDecision word;
  measure::Prediction prediction;
};

Result<DecidedHypothesis> decide_hypothesis(Context& context, const Run& run) {
  const auto measured = run.failure ? std::nullopt : run.total;
  DecidedHypothesis decided{measure::decide(run.hypothesis, measured),
                            measure::decide_prediction(run.hypothesis, measured)};
  Json payload{{"iteration", run.number},
               {"state", to_string(decided.word.state)},
               {"reason", run.failure ? run.failure->message : decided.word.reason},
               {"predicted_speedup", run.hypothesis.predicted_speedup},
               {"measured_speedup", speedup_or_null(measured)},
               {"interval", interval_or_null(measured)}};
  payload.update(to_json(decided.prediction));
  WB_TRY(context.log("hypothesis_decided", std::move(payload)));
  return decided;
}

/// Only a confirmed comparison can change the incumbent.
Result<bool> change_incumbent(Context& context, const Run& run) {
  if (run.failure || !run.confirmed || !run.refusal.empty()) return false;
  WB_TRY(context.log("incumbent_changed",
                     {{"iteration", run.number},
                      {"from", context.incumbent->label},
                      {"to", run.candidate->label},
                      {"variant_id", run.candidate->variant.id},
                      {"artifact_id", run.candidate->artifact.id},
                      {"configuration", variant::to_json(run.candidate->configuration)},
                      {"speedup", run.total->speedup},
                      {"interval", to_json(run.total->interval)}}));
  return true;
}

std::string outcome_message(const Run& run, bool win) {
  if (run.failure) return run.preface + run.failure->message;
  if (!run.total || (!run.confirmed && !run.preface.empty())) return run.preface;
  const std::string figure =
      measure::is_valid(run.total->interval)
          ? fmt::format("{:.3f}x [{:.3f}, {:.3f}] against {}", run.total->speedup,
                        run.total->interval.low, run.total->interval.high, run.total->rival)
          : fmt::format("no figure against {}", run.total->rival);
  if (win) return run.preface + "confirmed in fresh processes: " + figure;
  if (run.confirmed) {
    return fmt::format("{}not confirmed ({}): {}", run.preface, run.refusal, figure);
  }
  return fmt::format("selection says {}: {}", to_string(run.total->outcome), figure);
}

Result<void> measure_candidate(Context& context, Run& run) {
  WB_TRY(time_candidate(context, run, "selection"));
  if (run.failure) return {};
  const bool looks_faster = run.total->outcome == measure::ComparisonOutcome::faster;
  if (run.confirm == "always" || (run.confirm == "if_faster" && looks_faster)) {
    WB_TRY(time_candidate(context, run, "confirmation"));
  }
  return {};
}

}  // namespace

Result<std::pair<Variant, variant::Configuration>> read_proposal(Context& context, const Json& args,
                                                                 std::string_view verb) {
  const std::string parent = args.value("parent", context.incumbent->label);
  const std::string id = args.value("variant", "");
  const bool has_files = args.contains("files") && !args["files"].empty();
  if (!id.empty() && has_files) {
    return Error{ErrorCode::usage, "read the proposal of", std::string(verb),
                 "both a variant and files are given", "give a variant, or files for a parent"};
  }
  WB_TRY_ASSIGN(auto resolved, resolve_variant(context, id.empty() ? parent : id));
  if (has_files) {
    const auto files = args["files"].get<std::map<std::string, std::string>>();
    const std::string name = args.value("name", resolved.first.manifest.name);
    WB_TRY_ASSIGN(resolved.first, variant::derive_variant(context.services.file_system,
                                                          resolved.first, files, name));
  }
  const Json given = args.value("configuration", Json::object());
  for (const auto& [name, value] : given.items()) {
    resolved.second[name] = value.get<std::int64_t>();
  }
  return resolved;
}

Result<std::optional<Json>> refuse_to_start(Context& context) {
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::brief));
  const StopDecision stop =
      stop_decision(*view, context.settings.budget, context.settings.stop, context.elapsed_s());
  if (!stop.reason) return std::optional<Json>{};
  return std::optional<Json>(Json{{"iteration", nullptr},
                                  {"outcome", "stopped"},
                                  {"invalidity", nullptr},
                                  {"message", "no further iteration: " + *stop.reason},
                                  {"speedup", nullptr},
                                  {"interval", nullptr},
                                  {"decision", "undecided"},
                                  {"mechanism", "undecided"},
                                  {"size", "undecided"},
                                  {"variant", ""},
                                  {"incumbent", context.incumbent->label},
                                  {"problems", Json::array()},
                                  {"stop_reason", *stop.reason}});
}

Result<std::int64_t> next_iteration(const Context& context) {
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::brief));
  return view->iterations.empty() ? 1 : view->iterations.back().number + 1;
}

Result<void> open_iteration(Context& context, const Run& run, const Variant& variant,
                            const variant::Configuration& configuration, const Json& args,
                            const Json& more) {
  const std::string parent = args.value("parent", context.incumbent->label);
  const std::vector<std::string> techniques =
      variant::techniques_in(variant.manifest, configuration);
  Json opened{{"iteration", run.number},
              {"parent", parent},
              {"variant", label(variant)},
              {"variant_id", variant.id},
              {"configuration", variant::to_json(configuration)},
              {"hypothesis",
               {{"theory", run.hypothesis.theory},
                {"predicted_speedup", run.hypothesis.predicted_speedup}}},
              {"techniques", techniques}};
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::brief));
  if (auto added = added_to(*context.session, *view, parent, techniques)) {
    opened["adds"] = *std::move(added);
  }
  if (args.contains("idea")) opened["ideas"] = args["idea"];
  opened.update(more);
  WB_TRY(context.log("iteration_opened", std::move(opened)));
  return {};
}

// Stage 4: a variant that fails its verdict is never timed.
Result<void> judge_candidate(Context& context, Run& run) {
  std::vector<problem::Problem> problems;
  for (const problem::SuiteProblem& member : context.settings.suite.problems) {
    if (member.held_out || not_supported(*run.candidate, member.problem)) continue;
    problems.push_back(member.problem);
    run.problems.push_back(member.problem);
  }
  if (problems.empty()) {
    run.failure = Failure{Invalidity::constraints, "it takes no problem of the suite", ""};
    return {};
  }
  WB_TRY_ASSIGN(
      const auto judgements,
      judge_subject(context, *run.candidate, problems, VerdictExtent::whole, nullptr,
                    Refusal::fails, drawn_runs(context, *run.candidate, context.settings.suite)));
  run.failure = failure_of(judgements);
  return {};
}

Result<Json> conclude_iteration(Context& context, Run& run, const Variant& variant,
                                const Json& more) {
  // A stop also kills the worker, so this failure is not the variant's.
  WB_TRY(context.check_stop());
  WB_TRY_ASSIGN(const DecidedHypothesis decided, decide_hypothesis(context, run));
  WB_TRY_ASSIGN(const bool win, change_incumbent(context, run));
  WB_TRY(context.spending->debit_device(label(variant)));
  const std::string outcome = run.failure ? "invalid" : win ? "win" : "no_gain";
  const Json invalidity = run.failure ? Json(to_string(run.failure->invalidity)) : Json(nullptr);
  Json closed{{"iteration", run.number},
              {"outcome", outcome},
              {"invalidity", invalidity},
              {"message", outcome_message(run, win)},
              {"speedup", run.failure ? Json(nullptr) : speedup_or_null(run.total)},
              {"interval", run.failure ? Json(nullptr) : interval_or_null(run.total)}};
  closed.update(more);
  const std::string variant_label = run.candidate ? run.candidate->label : label(variant);
  WB_TRY(close_iteration(context, {.closed = closed,
                                   .variant_id = variant.id,
                                   .variant_label = variant_label,
                                   .artifact_id = run.candidate ? run.candidate->artifact.id : "",
                                   .predicted_speedup = run.hypothesis.predicted_speedup}));
  if (win) {
    context.spending->best_speedup =
        context.spending->best_speedup.value_or(1.0) * run.total->speedup;
    context.incumbent = std::move(run.candidate);
  }
  context.iteration = -1;
  WB_TRY_ASSIGN(const SessionView* after, context.session->current(FoldDepth::brief));
  const StopDecision next =
      stop_decision(*after, context.settings.budget, context.settings.stop, context.elapsed_s());
  Json answer = std::move(closed);
  answer["decision"] = to_string(decided.word.state);
  answer["mechanism"] = to_string(decided.prediction.mechanism);
  answer["size"] = to_string(decided.prediction.size);
  answer["variant"] = variant_label;
  answer["incumbent"] = context.incumbent->label;
  answer["problems"] = run.problem_rows;
  answer["stop_reason"] = next.reason ? Json(*next.reason) : Json(nullptr);
  return answer;
}

Result<Json> iterate(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const auto refused, refuse_to_start(context));
  if (refused) {
    Json answer = *refused;
    WB_TRY(add_subject_output(context, {}, answer));
    return answer;
  }
  WB_TRY_ASSIGN(const auto proposal, read_proposal(context, args, "iterate"));
  Run run;
  WB_TRY_ASSIGN(run.number, next_iteration(context));
  run.hypothesis = {args["hypothesis"].get<std::string>(), args["predicted_speedup"].get<double>()};
  run.confirm = args.value("confirm", "if_faster");
  run.all_plans = args.value("plans", "all") == "all";
  context.iteration = run.number;
  WB_TRY(open_iteration(context, run, proposal.first, proposal.second, args));
  context.report_progress({.stage = "build", .what = label(proposal.first)});
  WB_TRY_ASSIGN(Outcome<Subject> built, build_and_log(context, proposal.first, proposal.second));
  std::string printed;  // empty for build failures, whose output is the compiler's
  if (built) {
    run.candidate = *std::move(built);
    WB_TRY(judge_candidate(context, run));
    if (!run.failure) WB_TRY(measure_candidate(context, run));
    if (run.failure) printed = run.failure->untrusted_output;
  } else {
    run.failure = std::move(built).error();
  }
  WB_TRY_ASSIGN(Json answer, conclude_iteration(context, run, proposal.first));
  WB_TRY(add_subject_output(context, printed, answer));
  return answer;
}

Result<void> need_baseline(Context& context, std::string_view verb) {
  if (!context.incumbent) {
    return Error{ErrorCode::invalid, std::string(verb) + " in", context.session->folder().string(),
                 "its baseline never closed", "run `sdpa-wb resume` first"};
  }
  if (!context.device_checked) WB_TRY(environment_since_open(context));
  return {};
}

}  // namespace wb::engine
