// SPDX-License-Identifier: MIT
// `compare`: a variant and one or more others in the same turns.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/json.hpp"
#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/first_calls.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/verdicts.hpp"
#include "measure/statistics.hpp"
#include "problem/problem.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/single_stages.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::figure_or_null;
using engine::Judgement;
using engine::NoiseFloors;
using engine::Objective;
using engine::ProblemScore;
using engine::Refusal;
using engine::same_code_turns;
using engine::Subject;
using engine::TimingRequest;
using engine::TimingResult;
using problem::Problem;
using problem::Suite;

namespace {

constexpr std::size_t k_against = 1, k_again = 2;  // lanes; 0 is the candidate

/// The subjects of a comparison, each judged. `against` appears twice, because its second process
/// gives this run's noise floor.
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
    WB_TRY_ASSIGN(asked, with_best_variant(context, std::move(asked), "variant"));
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

/// One problem: a row and an event for each subject that supports it. The score is that against the
/// fastest of them.
Result<std::optional<ProblemScore>> compare_on(Context& context, const TimingRequest& request,
                                               const TimingResult& result, std::size_t p,
                                               Json& rows) {
  const Problem& problem = request.problems[p];
  const measure::PlanKind plan = request.plans[0];
  const auto& lanes = result.lanes[p][0];
  // If `against` does not support the problem, the candidate's own processes give the floor.
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
    // Ratios are paired by round, so they separate subjects whose medians do not.
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

Result<Json> compare_body(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const Suite suite, problems_of(context, args));
  const std::vector<Problem> problems = plain_problems(suite);
  WB_TRY_ASSIGN(const std::vector<Subject> subjects, compared_subjects(context, args, problems));
  WB_TRY_ASSIGN(TimingRequest request, request_for(args, problems));
  request.first_calls = true;
  for (const Subject& subject : subjects) request.subjects.push_back(&subject);
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  // This run uses its own floors; those of a session come from its log.
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

std::string compare_text(const Json& answer) {
  std::string text = cell(answer["outcome"]);
  if (answer["speedup"].is_number()) {
    text += fmt::format(": {}x{}", cell(answer["speedup"]), interval_text(answer["interval"]));
  }
  return text + "\n" +
         rows_of(answer["problems"], {"problem", "outcome", "speedup", "candidate_us", "against_us",
                                      "noise_floor_frac", "reason"}) +
         notes_of(answer);
}

ExitCode compare_exit_code(const Json& answer) {
  return is_machine_too_busy(answer["problems"]) ? ExitCode::environment : ExitCode::ok;
}

/// A row for each problem text and each other subject; the first subject is the fastest.
Result<Json> compared_rows(const std::string& texts, const std::string& candidate,
                           const std::vector<std::string>& others, double speedup,
                           std::string_view outcome) {
  Json rows = Json::array();
  if (texts.empty()) return rows;  // a suite was named
  WB_TRY_ASSIGN(const auto problems, problem::parse_problems(texts));
  for (const Problem& problem : problems) {
    for (std::size_t i = 0; i < others.size(); ++i) {
      const double ratio = speedup * static_cast<double>(i + 1);
      rows.push_back({{"problem", label(problem)},
                      {"candidate", candidate},
                      {"against", others[i]},
                      {"speedup", ratio},
                      {"interval", interval_around(ratio)},
                      {"outcome", outcome},
                      {"candidate_us", 100.0},
                      {"against_us", 100.0 * ratio},
                      {"fastest", i == 0}});
    }
  }
  return rows;
}

Result<Json> compare_sample(FakeEngine& fake, const Json& args) {
  std::vector<std::string> others{args["against"].get<std::string>()};
  for (const Json& other : args.value("others", Json::array())) {
    others.push_back(other.get<std::string>());
  }
  const auto candidate = args["candidate"].get<std::string>();
  WB_TRY_ASSIGN(const std::string fault,
                fake.misfit(candidate, args.value("configuration", Json::object())));
  if (!fault.empty()) return Error{ErrorCode::invalid, "compare", candidate, fault, ""};
  for (const std::string& other : others) WB_TRY(fake.misfit(other, Json::object()));
  const double speedup = fake.draw_speedup();
  const std::string_view outcome = speedup > 1.05 ? "faster" : "slower";
  WB_TRY_ASSIGN(Json rows, compared_rows(args.value("problem", std::string()), candidate, others,
                                         speedup, outcome));
  return Json{{"outcome", outcome},
              {"speedup", speedup},
              {"interval", interval_around(speedup)},
              {"problems", std::move(rows)},
              {"notes", Json::array()}};
}

}  // namespace

const Verb& verb_compare() {
  static const Verb verb{
      .spec =
          {.name = "compare",
           .doc = "time a variant and one or more others in turns and compare them",
           .session = SessionNeed::optional,
           .arguments =
               {id_argument("candidate", "a kernel's name or a label").required().positional(),
                id_argument("against", "the other one").required().positional(),
                ids_argument("others",
                             "more to compare it with, in the same turns; the fastest of all that "
                             "take a problem counts"),
                configuration_argument(), suite_argument(), problem_argument(), plan_argument(),
                regime_argument(), effort_argument()},
           .result =
               {{"outcome", "string: faster, slower, same or ambiguous, over all problems"},
                {"speedup", "real: geometric mean (ratio, above 1: candidate is faster)"},
                {"interval", "map: low, high, confidence"},
                {"problems",
                 "list: per problem and other one the comparison, against, candidate_us, "
                 "against_us (us; null where nothing was measured), fastest (of the others there)"},
                {"notes", "list: what of the machine is in every figure, such as a CPU quota"}},
           .is_long = true},
      .body = [](const Call& call) { return compare_body(call.context, call.args); },
      .text = compare_text,
      .exit_code = compare_exit_code,
      .sample = compare_sample};
  return verb;
}

}  // namespace wb::verbs
