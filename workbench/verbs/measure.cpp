// SPDX-License-Identifier: MIT
// `measure`: times one variant after its verdict.
#include "core/json.hpp"
#include "engine/comparing.hpp"
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
using engine::Lane;
using engine::Subject;
using engine::TimingRequest;
using engine::TimingResult;
using problem::Problem;
using problem::Suite;

namespace {

constexpr std::uint64_t k_summary_seed = 13;

Result<Json> measure_body(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const Json asked, with_best_variant(context, args, "variant"));
  WB_TRY_ASSIGN(const Subject subject, subject_from_arguments(context, asked, "variant"));
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
      if (measure::is_uninformative(measurement.interval_us)) {
        row["message"] = "its processes differ by a factor of more than 100: no interval";
      }
    }
    rows.push_back(std::move(row));
  }
  return Json{{"variant", subject.label},
              {"problems", std::move(rows)},
              {"notes", notes_on_machine(context)}};
}

std::string measure_text(const Json& answer) {
  return cell(answer["variant"]) + "\n" +
         rows_of(answer["problems"],
                 {"problem", "outcome", "median_us", "gflop_per_s", "message"}) +
         notes_of(answer);
}

ExitCode measure_exit_code(const Json& answer) {
  return is_machine_too_busy(answer["problems"]) ? ExitCode::environment : ExitCode::ok;
}

/// A sample row for each problem text; in the failing course it failed.
Result<Json> measured_rows(FakeEngine& fake, const std::string& texts) {
  Json rows = Json::array();
  if (texts.empty()) return rows;  // a suite was named
  WB_TRY_ASSIGN(const auto problems, problem::parse_problems(texts));
  for (const Problem& problem : problems) {
    Json row{{"problem", label(problem)}, {"outcome", "runtime"},   {"message", "dry run"},
             {"median_us", nullptr},      {"interval_us", nullptr}, {"gflop_per_s", nullptr}};
    if (fake.course() != Course::failing) {
      const double median_us = 100 * fake.draw_speedup();
      row.update({{"outcome", "measured"},
                  {"median_us", median_us},
                  {"interval_us", interval_around(median_us)},
                  {"gflop_per_s", problem::work(problem).flops / median_us * 1e-3}});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<Json> measure_sample(FakeEngine& fake, const Json& args) {
  const auto variant = args["variant"].get<std::string>();
  WB_TRY(fake.misfit(variant, Json::object()));
  WB_TRY_ASSIGN(Json rows, measured_rows(fake, args.value("problem", std::string())));
  return Json{{"variant", variant}, {"problems", std::move(rows)}, {"notes", Json::array()}};
}

}  // namespace

const Verb& verb_measure() {
  static const Verb verb{
      .spec = {.name = "measure",
               .doc = "time one variant (after its verdict)",
               .session = SessionNeed::optional,
               .arguments = {variant_argument(), suite_argument(), problem_argument(),
                             configuration_argument(), plan_argument(), regime_argument(),
                             effort_argument()},
               .result = {{"variant", "string: label"},
                          {"problems",
                           "list: per problem outcome, median_us, interval_us, gflop_per_s (null "
                           "where nothing was measured; message says why)"},
                          {"notes",
                           "list: what of the machine is in every figure, such as a CPU quota"}},
               .is_long = true},
      .body = [](const Call& call) { return measure_body(call.context, call.args); },
      .text = measure_text,
      .exit_code = measure_exit_code,
      .sample = measure_sample};
  return verb;
}

}  // namespace wb::verbs
