// SPDX-License-Identifier: MIT
// `check`, `measure` and `compare`: the stages of an iteration on their own, with or without a
// session.
#include <fmt/format.h>

#include <cmath>

#include "engine/building.hpp"
#include "engine/timing.hpp"
#include "engine/verb_bodies.hpp"
#include "measure/roofline.hpp"

namespace wb {
namespace {

constexpr std::uint64_t k_summary_seed = 13;

}  // namespace

Result<std::vector<Judgement>> judge_or_fail(Context& context, const Subject& subject,
                                             const std::vector<Problem>& problems) {
  WB_TRY_ASSIGN(auto judgements, judge_subject(context, subject, problems));
  if (auto failure = first_failure(judgements)) {
    const ErrorCode code = *failure->invalidity == Invalidity::environment
                               ? ErrorCode::environment
                               : ErrorCode::wrong_result;
    return Error{code, "time", subject.label,
                 fmt::format("its verdict on {} is {}: {}", label(failure->problem),
                             to_string(*failure->invalidity), failure->message),
                 "no speed without a verdict; see `sdpa-wb check`"};
  }
  return judgements;
}

namespace {

Result<TimingRequest> request_for(const Json& args, std::vector<Problem> problems) {
  TimingRequest request;
  WB_TRY_ASSIGN(const auto how, how_to_time(args));
  const EffortPlan effort = effort_plan(args.value("effort", "standard"));
  request.effort = effort.confirmation;
  request.plan = effort.plan;
  request.plans = {how.first};
  request.regime = how.second;
  request.problems = std::move(problems);
  request.phase = "standalone";
  return request;
}

}  // namespace

Result<Suite> problems_of(Context& context, const Json& args) {
  if (context.session && !args.contains("suite") && !args.contains("problem")) {
    return context.settings.suite;
  }
  return suite_from_arguments(context, args);
}

std::vector<Problem> plain_problems(const Suite& suite) {
  std::vector<Problem> problems;
  for (const SuiteProblem& member : suite.problems) {
    if (!member.held_out) problems.push_back(member.problem);
  }
  return problems;
}

Error error_of_build(const Variant& variant, const Failure& failure) {
  const ErrorCode code = failure.invalidity == Invalidity::compile       ? ErrorCode::compile
                         : failure.invalidity == Invalidity::environment ? ErrorCode::environment
                         : failure.invalidity == Invalidity::timeout     ? ErrorCode::limit
                                                                         : ErrorCode::invalid;
  return Error{code, "build", label(variant), failure.message, failure.untrusted_output};
}

Result<Subject> subject_from_arguments(Context& context, const Json& args, const char* key,
                                       std::optional<std::string> wanted_target) {
  WB_TRY_ASSIGN(auto resolved, resolve_variant(context, args[key].get<std::string>()));
  const auto& [variant, stored] = resolved;
  Configuration configuration = stored;
  const Json given = args.value("configuration", Json::object());
  for (const auto& [name, value] : given.items()) configuration[name] = value.get<std::int64_t>();
  Outcome<Subject> subject = wanted_target
                                 ? build_only(context, variant, configuration, *wanted_target)
                                 : build_subject(context, variant, configuration);
  if (context.session) {  // without one nothing is kept
    WB_TRY(log_built(context, variant, configuration, subject));
    if (subject) WB_TRY(record_build_findings(context, *subject));
  }
  if (subject) return *std::move(subject);
  return error_of_build(variant, subject.error());
}

Result<Json> verb_check(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const Subject subject, subject_from_arguments(context, args, "variant"));
  WB_TRY_ASSIGN(const Suite suite, problems_of(context, args));
  std::vector<Problem> problems = plain_problems(suite);
  for (Problem& edge : edge_problems(subject.variant.manifest, suite)) {
    problems.push_back(std::move(edge));
  }
  WB_TRY_ASSIGN(const auto judgements, judge_subject(context, subject, problems));
  Json rows = Json::array();
  bool any = false;
  for (const Judgement& judgement : judgements) {
    const std::string outcome = !judgement.supported ? "not_supported"
                                : judgement.invalidity
                                    ? std::string(to_string(*judgement.invalidity))
                                    : "pass";
    any = any || judgement.supported;
    rows.push_back(
        {{"problem", label(judgement.problem)},
         {"outcome", outcome},
         {"message", judgement.message},
         {"worst_share",
          std::isfinite(judgement.worst_share) ? Json(judgement.worst_share) : Json(nullptr)}});
  }
  return Json{{"pass", any && !first_failure(judgements).has_value()},
              {"variant", subject.label},
              {"problems", std::move(rows)}};
}

Result<Json> verb_measure(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const Subject subject, subject_from_arguments(context, args, "variant"));
  WB_TRY_ASSIGN(const Suite suite, problems_of(context, args));
  const std::vector<Problem> problems = plain_problems(suite);
  WB_TRY(judge_or_fail(context, subject, problems));
  WB_TRY_ASSIGN(TimingRequest request, request_for(args, problems));
  request.subjects = {&subject};
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  Json rows = Json::array();
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const Lane& lane = result.lanes[p][0][0];
    Json row{{"problem", label(problems[p])}, {"outcome", "measured"},  {"message", ""},
             {"median_us", nullptr},          {"interval_us", nullptr}, {"gflop_per_s", nullptr}};
    if (lane.failure) {
      row["outcome"] = to_string(lane.failure->invalidity);
      row["message"] = lane.failure->message;
    } else if (lane.turns.empty()) {
      row["outcome"] = "not_supported";
      row["message"] = not_supported(subject, problems[p]).value_or("");
    } else {
      const Measurement measurement = summarize(lane.turns, k_summary_seed);
      row["median_us"] = measurement.median_us;
      row["interval_us"] = to_json(measurement.interval_us);
      row["gflop_per_s"] = work(problems[p]).flops / measurement.median_us * 1e-3;
    }
    rows.push_back(std::move(row));
  }
  return Json{{"variant", subject.label}, {"problems", std::move(rows)}};
}

Result<Json> verb_compare(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const Subject candidate, subject_from_arguments(context, args, "candidate"));
  Json against_args = args;
  against_args.erase("configuration");
  WB_TRY_ASSIGN(const Subject against, subject_from_arguments(context, against_args, "against"));
  WB_TRY_ASSIGN(const Suite suite, problems_of(context, args));
  const std::vector<Problem> problems = plain_problems(suite);
  WB_TRY(judge_or_fail(context, candidate, problems));
  WB_TRY(judge_or_fail(context, against, problems));
  WB_TRY_ASSIGN(TimingRequest request, request_for(args, problems));
  // The second process of `against` gives the noise floor of this very run.
  request.subjects = {&candidate, &against, &against};
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  // The floors of this run are its own: a session's are those that its log names.
  const NoiseFloors sessions_floors = context.floors;
  std::vector<ProblemScore> scores;
  Json rows = Json::array();
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const auto& lanes = result.lanes[p][0];
    if (lanes[0].turns.empty() && !lanes[0].failure) continue;
    std::vector<Turn> same_code;
    for (std::size_t s = 1; s < 3; ++s) {
      for (Turn turn : lanes[s].turns) {
        turn.instance = 2 * turn.instance + static_cast<std::int64_t>(s - 1);
        same_code.push_back(std::move(turn));
      }
    }
    if (!same_code.empty()) {
      context.floors[{to_text(problems[p]), std::string(to_string(request.plans[0]))}] =
          noise_floor(same_code);
    }
    const Comparison comparison = compare_lanes(context, problems[p], request.plans[0], lanes[0],
                                                candidate.label, lanes[1], against.label);
    const double candidate_us = lane_median_us(lanes[0]), against_us = lane_median_us(lanes[1]);
    scores.push_back({{problems[p], 1.0, false},
                      comparison,
                      against_us,
                      same_margin(context, problems[p], request.plans[0])});
    WB_TRY(log_comparison(context, comparison, problems[p],
                          {.phase = request.phase,
                           .role = "rival",
                           .plan = request.plans[0],
                           .turns = result.events[p],
                           .flags = flags_of(lanes[0], lanes[1]),
                           .conditions = conditions_of(lanes[0], lanes[1])},
                          candidate_us, against_us));
    Json row = to_json(comparison);
    row["problem"] = label(problems[p]);
    row["candidate_us"] = candidate_us;
    row["against_us"] = against_us;
    rows.push_back(std::move(row));
  }
  context.floors = sessions_floors;
  const Comparison total = score(Objective{}, scores);
  return Json{{"outcome", to_string(total.outcome)},
              {"speedup", std::isfinite(total.speedup) ? Json(total.speedup) : Json(nullptr)},
              {"interval", to_json(total.interval)},
              {"problems", std::move(rows)}};
}

}  // namespace wb
