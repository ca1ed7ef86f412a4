// SPDX-License-Identifier: MIT
// A session's noise floors, from the incumbent timed beside itself.
#include "engine/floors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/settings.hpp"
#include "engine/spending.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "measure/figures.hpp"
#include "measure/statistics.hpp"
#include "problem/suite.hpp"

namespace wb::engine {

using measure::PlanKind;
using problem::Problem;

namespace {

constexpr int k_most_renewals = 2;

Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

std::pair<std::string, std::string> key_of(const Problem& problem, PlanKind plan) {
  return {to_text(problem), std::string(to_string(plan))};
}

/// A usable floor replaces an unusable one; of two unusable ones the narrower is kept.
bool is_better(const Context& context, const measure::NoiseFloor& floor, bool is_fit,
               const std::pair<std::string, std::string>& key) {
  const auto found = context.floors.find(key);
  if (is_fit || found == context.floors.end() || !std::isfinite(found->second.floor_frac)) {
    return true;
  }
  return context.unfit_floors.contains(key) && floor.floor_frac < found->second.floor_frac;
}

std::string unfit_words(const Context& context, const std::pair<std::string, std::string>& key) {
  const auto found = context.unfit_floors.find(key);
  return found == context.unfit_floors.end() ? std::string() : found->second;
}

/// The incumbent beside itself, timed as in a confirmation.
TimingRequest floor_request(const Context& context, const Subject& incumbent,
                            std::vector<Problem> problems, std::vector<PlanKind> plans) {
  TimingRequest request;
  const EffortPlan effort = effort_plan(context.settings.effort);
  request.subjects = {&incumbent, &incumbent};
  request.problems = std::move(problems);
  request.plans = std::move(plans);
  request.effort = effort.confirmation;
  request.other_instances = effort.other_instances;
  request.plan = effort.plan;
  request.regime = context.settings.objective.regime;
  request.phase = "noise_floor";
  return request;
}

}  // namespace

Result<Json> record_floors(Context& context, const TimingRequest& request,
                           const TimingResult& result) {
  Json rows = Json::array();
  const std::int64_t instances = effort_plan(context.settings.effort).confirmation.instances;
  for (std::size_t p = 0; p < request.problems.size(); ++p) {
    for (std::size_t k = 0; k < request.plans.size(); ++k) {
      const auto& lanes = result.lanes[p][k];
      const auto turns = same_code_turns(lanes[0], lanes[1]);
      if (turns.empty()) continue;
      const measure::NoiseFloor floor = measure::noise_floor(turns);
      const auto key = key_of(request.problems[p], request.plans[k]);
      const bool is_disturbed = !lanes[0].disturbed_by.empty() || !lanes[1].disturbed_by.empty();
      const auto unfit = measure::unfit_reason(floor, is_disturbed);
      const bool is_used = is_better(context, floor, !unfit, key);
      if (is_used) {
        context.floors[key] = floor;
        context.unfit_floors.erase(key);
        if (unfit) context.unfit_floors[key] = *unfit;
      }
      Json event = to_json(floor);
      event["problem"] = key.first;
      event["plan"] = key.second;
      event["subject"] = request.subjects[0]->label;
      event["used"] = is_used;
      event["unfit"] = unfit.value_or("");
      event["cannot_show_frac"] = finite_or_null(measure::smallest_gain_frac(floor, instances));
      rows.push_back({{"problem", label(request.problems[p])},
                      {"plan", key.second},
                      {"floor_frac", event["floor_frac"]},
                      {"between_instance_frac", event["between_instance_frac"]},
                      {"cannot_show_frac", event["cannot_show_frac"]},
                      {"used", is_used},
                      {"unfit", event["unfit"]}});
      WB_TRY(context.log("noise_floor_measured", std::move(event)));
    }
  }
  return rows;
}

Result<void> renew_unfit_floors(Context& context, const std::vector<Problem>& problems) {
  const PlanKind plan = context.settings.objective.plan;
  std::vector<Problem> unfit;
  for (const Problem& problem : problems) {
    const auto key = key_of(problem, plan);
    if (!context.unfit_floors.contains(key)) continue;
    if (not_supported(*context.incumbent, problem)) continue;
    if (context.floor_renewals[key]++ < k_most_renewals) unfit.push_back(problem);
  }
  if (unfit.empty()) return {};
  const TimingRequest request =
      floor_request(context, *context.incumbent, std::move(unfit), {plan});
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  WB_TRY(record_floors(context, request, result));
  return {};
}

Result<Json> remeasure_floor(Context& context, const Json& args) {
  std::vector<Problem> problems;
  const std::string wanted = args.value("problem", "");
  for (const Problem& problem : plain_problems(context.settings.suite)) {
    if (not_supported(*context.incumbent, problem)) continue;
    if (wanted.empty() || label(problem) == wanted || to_text(problem) == wanted) {
      problems.push_back(problem);
    }
  }
  if (problems.empty()) {
    return Error{ErrorCode::not_found, "measure the noise floor of", wanted,
                 "it is no problem of the suite that the incumbent takes",
                 "give a name as the report has it, or none for all problems"};
  }
  const std::vector<PlanKind> plans =
      args.value("all_plans", false)
          ? std::vector<PlanKind>{PlanKind::hot, PlanKind::cold, PlanKind::eager}
          : std::vector<PlanKind>{context.settings.objective.plan};
  const TimingRequest request =
      floor_request(context, *context.incumbent, std::move(problems), plans);
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  for (const auto& plans_of : result.lanes) {
    for (const auto& lanes : plans_of) {
      if (!lanes[0].failure || lanes[0].failure->invalidity == Invalidity::environment) continue;
      return Error{ErrorCode::wrong_result, "measure the noise floor with",
                   context.incumbent->label, lanes[0].failure->message,
                   "see `sdpa-wb check` of the incumbent"};
    }
  }
  WB_TRY_ASSIGN(Json rows, record_floors(context, request, result));
  WB_TRY(context.spending->debit_device("noise_floor"));
  const auto fit =
      std::count_if(rows.begin(), rows.end(), [](const Json& row) { return row["unfit"] == ""; });
  std::string text = cannot_show_text(rows);
  if (rows.empty()) text = "every turn was disturbed by other work: nothing was measured\n";
  return Json{{"fit", fit == static_cast<std::ptrdiff_t>(rows.size()) && !rows.empty()},
              {"floors", std::move(rows)},
              {"text", std::move(text)}};
}

Json cannot_show(const Context& context) {
  Json rows = Json::array();
  const PlanKind plan = context.settings.objective.plan;
  const std::int64_t instances = effort_plan(context.settings.effort).confirmation.instances;
  for (const Problem& problem : plain_problems(context.settings.suite)) {
    const auto key = key_of(problem, plan);
    const auto found = context.floors.find(key);
    if (found == context.floors.end()) continue;
    rows.push_back({{"problem", label(problem)},
                    {"plan", to_string(plan)},
                    {"cannot_show_frac",
                     finite_or_null(measure::smallest_gain_frac(found->second, instances))},
                    {"unfit", unfit_words(context, key)}});
  }
  return rows;
}

std::string cannot_show_text(const Json& rows) {
  const Json* widest = nullptr;
  std::string text;
  for (const Json& row : rows) {
    if (row["unfit"] != "") {
      text += fmt::format(
          "{} ({}): the noise floor cannot serve: {}; `sdpa-wb remeasure floor` "
          "when the machine is calm\n",
          row["problem"].get<std::string>(), row["plan"].get<std::string>(),
          row["unfit"].get<std::string>());
    }
    if (!row["cannot_show_frac"].is_number()) continue;
    if (widest == nullptr || row["cannot_show_frac"] > (*widest)["cannot_show_frac"]) {
      widest = &row;
    }
  }
  if (widest == nullptr) return text;
  const double frac = (*widest)["cannot_show_frac"];
  return fmt::format("gains below {:.1f} % cannot be shown on {}{}\n", 100 * frac,
                     (*widest)["problem"].get<std::string>(),
                     rows.size() > 1 ? ", nor smaller ones elsewhere than its floor allows" : "") +
         text;
}

}  // namespace wb::engine
