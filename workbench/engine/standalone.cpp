// SPDX-License-Identifier: MIT
// `check`, `measure` and `compare`: the stages of an iteration on their own, with or without a
// session.
#include <fmt/format.h>

#include <cmath>

#include "engine/building.hpp"
#include "engine/timing.hpp"
#include "engine/verb_bodies.hpp"
#include "measure/roofline.hpp"

namespace wb::engine {

using problem::Problem;
using problem::Suite;

namespace {

constexpr std::uint64_t k_summary_seed = 13;

}  // namespace

Result<std::vector<Judgement>> judge_or_fail(Context& context, const Subject& subject,
                                             const std::vector<Problem>& problems,
                                             Refusal refusal) {
  WB_TRY_ASSIGN(auto judgements,
                judge_subject(context, subject, problems, Proof::whole, nullptr, refusal));
  if (auto failure = first_failure(judgements)) {
    const ErrorCode code = *failure->invalidity == Invalidity::environment
                               ? ErrorCode::environment
                               : ErrorCode::wrong_result;
    return Error{code, "time", subject.label,
                 fmt::format("its verdict on {} is {}: {}", label(*failure),
                             to_string(*failure->invalidity), failure->message),
                 "no speed without a verdict; see `sdpa-wb check`"};
  }
  return judgements;
}

namespace {

/// What the machine does to every figure taken here.
Json notes_on_machine(const Context& context) {
  Json notes = Json::array();
  if (!context.hello || !context.hello->cpu_limits) return notes;
  const device::CpuLimits& limits = *context.hello->cpu_limits;
  if (device::is_short(limits)) {
    notes.push_back("a CPU quota limits this machine to " + device::quota_text(limits) +
                    ": turns that it stops do not count");
  }
  return notes;
}

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
  for (const problem::SuiteProblem& member : suite.problems) {
    if (!member.held_out) problems.push_back(member.problem);
  }
  return problems;
}

Error error_of_build(const variant::Variant& variant, const Failure& failure) {
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
  variant::Configuration configuration = stored;
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
  std::optional<std::int64_t> draws;
  if (args.contains("draws")) draws = args["draws"].get<std::int64_t>();
  WB_TRY_ASSIGN(
      const auto judgements,
      judge_subject(context, subject, plain_problems(suite), Proof::whole, nullptr, Refusal::fails,
                    drawn_runs(context, subject, suite, Proof::whole, draws)));
  Json rows = Json::array();
  bool any = false;
  for (const Judgement& judgement : judgements) {
    const std::string outcome = !judgement.supported ? "not_supported"
                                : judgement.invalidity
                                    ? std::string(to_string(*judgement.invalidity))
                                    : "pass";
    any = any || judgement.supported;
    rows.push_back(
        {{"problem", label(judgement)},
         {"outcome", outcome},
         {"message", judgement.message},
         {"worst_share",
          std::isfinite(judgement.worst_share) ? Json(judgement.worst_share) : Json(nullptr)}});
  }
  const auto failed = first_failure(judgements);
  Json answer{{"pass", any && !failed}, {"variant", subject.label}, {"problems", std::move(rows)}};
  WB_TRY(tell_subject_output(context, failed ? failed->output : "", answer));
  return answer;
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
      const measure::Measurement measurement = measure::summarize(lane.turns, k_summary_seed);
      row["median_us"] = figure_or_null(measurement.median_us);
      row["interval_us"] = to_json(measurement.interval_us);
      row["gflop_per_s"] =
          figure_or_null(problem::work(problems[p]).flops / measurement.median_us * 1e-3);
      if (measure::says_nothing(measurement.interval_us)) {
        row["message"] = "its processes differ by a factor of more than 100: no interval";
      }
    }
    rows.push_back(std::move(row));
  }
  return Json{{"variant", subject.label},
              {"problems", std::move(rows)},
              {"notes", notes_on_machine(context)}};
}

namespace {

constexpr std::size_t k_against = 1, k_again = 2;  // lanes; 0 is the candidate

/// The subjects of a comparison, each judged; `against` comes twice, because its second process
/// tells the noise floor of this very run.
Result<std::vector<Subject>> compared_subjects(Context& context, const Json& args,
                                               const std::vector<Problem>& problems) {
  std::vector<std::string> names{args["candidate"].get<std::string>(),
                                 args["against"].get<std::string>()};
  const Json others = args.value("others", Json::array());
  names.insert(names.end(), others.begin(), others.end());
  std::vector<Subject> subjects;
  for (const std::string& name : names) {
    const bool is_candidate = subjects.empty();
    Json asked{{"variant", name}};
    if (is_candidate && args.contains("configuration")) {
      asked["configuration"] = args["configuration"];
    }
    WB_TRY_ASSIGN(Subject subject, subject_from_arguments(context, asked, "variant"));
    WB_TRY_ASSIGN(const auto judgements,
                  judge_or_fail(context, subject, problems,
                                is_candidate ? Refusal::fails : Refusal::excludes));
    for (const Judgement& judgement : judgements) {
      if (judgement.supported || is_candidate) continue;
      subject.refused.emplace(to_text(judgement.problem), judgement.message);
    }
    subjects.push_back(std::move(subject));
  }
  subjects.insert(subjects.begin() + k_again, subjects[k_against]);
  return subjects;
}

/// One problem: a row and an event for each subject that takes it; the score is that against the
/// fastest of them.
Result<std::optional<ProblemScore>> compare_on(Context& context, const TimingRequest& request,
                                               const TimingResult& result, std::size_t p,
                                               Json& rows) {
  const Problem& problem = request.problems[p];
  const measure::PlanKind plan = request.plans[0];
  const auto& lanes = result.lanes[p][0];
  // Where `against` does not take the problem the candidate's own processes tell it.
  auto same_code = same_code_turns(lanes[k_against], lanes[k_again]);
  if (same_code.empty()) same_code = lanes[0].turns;
  if (!same_code.empty()) {
    context.floors[{to_text(problem), std::string(to_string(plan))}] =
        measure::noise_floor(same_code);
  }
  const double candidate_us = lane_median_us(lanes[0]);
  std::optional<ProblemScore> score;
  std::size_t fastest = 0;
  for (std::size_t s = k_against; s < lanes.size(); ++s) {
    const bool takes_it = !lanes[s].turns.empty() || lanes[s].failure.has_value();
    if (s == k_again || (s != k_against && !takes_it)) continue;
    measure::Comparison comparison =
        compare_lanes(context, problem, plan, lanes[0], request.subjects[0]->label, lanes[s],
                      request.subjects[s]->label);
    Json fresh;
    if (const auto seen = fresh_outcome(request, result, p, 0, s, plan, comparison)) {
      fresh = to_json(*seen);
      comparison = measure::with_first_calls(comparison, *seen);
    }
    const double against_us = lane_median_us(lanes[s]);
    WB_TRY(log_comparison(context, comparison, problem,
                          {.request = request,
                           .role = "rival",
                           .plan = plan,
                           .turns = result.events[p],
                           .flags = flags_of(lanes[0], lanes[s]),
                           .conditions = conditions_of(lanes[0], lanes[s]),
                           .fresh = fresh},
                          candidate_us, against_us));
    Json row = to_json(comparison);
    row["fresh"] = std::move(fresh);
    row["problem"] = label(problem);
    row["against"] = request.subjects[s]->label;
    row["candidate_us"] = figure_or_null(candidate_us);
    row["against_us"] = figure_or_null(against_us);
    row["fastest"] = false;
    const auto& failure = lanes[0].failure ? lanes[0].failure : lanes[s].failure;
    row["invalidity"] = failure ? Json(to_string(failure->invalidity)) : Json(nullptr);
    // Ratios are paired by round: they tell two others apart where medians do not.
    const bool has_figure = comparison.speedup > 0;
    if (!score || (has_figure && !(score->comparison->speedup > 0 &&
                                   score->comparison->speedup <= comparison.speedup))) {
      score = ProblemScore{
          {problem, 1.0, false}, comparison, against_us, same_margin(context, problem, plan)};
      fastest = rows.size();
    }
    rows.push_back(std::move(row));
  }
  if (score) rows[fastest]["fastest"] = true;
  return score;
}

}  // namespace

Result<Json> verb_compare(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const Suite suite, problems_of(context, args));
  const std::vector<Problem> problems = plain_problems(suite);
  WB_TRY_ASSIGN(const std::vector<Subject> subjects, compared_subjects(context, args, problems));
  WB_TRY_ASSIGN(TimingRequest request, request_for(args, problems));
  request.first_calls = true;
  for (const Subject& subject : subjects) request.subjects.push_back(&subject);
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  // The floors of this run are its own: a session's are those that its log names.
  const NoiseFloors sessions_floors = context.floors;
  std::vector<ProblemScore> scores;
  Json rows = Json::array();
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const auto& candidate = result.lanes[p][0][0];
    if (candidate.turns.empty() && !candidate.failure) continue;
    WB_TRY_ASSIGN(auto score, compare_on(context, request, result, p, rows));
    if (score) scores.push_back(*std::move(score));
  }
  context.floors = sessions_floors;
  const measure::Comparison total = score(Objective{}, scores);
  return Json{{"outcome", to_string(total.outcome)},
              {"speedup", std::isfinite(total.speedup) ? Json(total.speedup) : Json(nullptr)},
              {"interval", to_json(total.interval)},
              {"problems", std::move(rows)},
              {"notes", notes_on_machine(context)}};
}

}  // namespace wb::engine
