// SPDX-License-Identifier: MIT
#include "engine/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/objective.hpp"
#include "engine/recorded.hpp"
#include "engine/stored.hpp"

namespace wb::engine {

using measure::Plan;
using measure::PlanKind;
using measure::Regime;
using problem::Suite;
using session::Rates;

namespace {

/// Of a CPU turn (docs/contracts/measurement.md): 5 ms untimed, at least 10 ms timed.
Plan cpu_turn(std::int64_t min_samples) {
  Plan plan;
  plan.settle_us = 5'000;
  plan.timed_us = 10'000;
  plan.min_samples = min_samples;
  return plan;
}

Result<Rates> read_rates(const Json& opened) {
  const auto found = opened.find("rates");
  return found == opened.end() ? Result<Rates>(Rates{}) : session::rates_from_json(*found);
}

Result<Suite> read_suite(const Json& opened) {
  const auto found = opened.find("suite");
  if (found == opened.end()) {
    return Error{ErrorCode::damaged, "read the suite of", "session_opened", "it is missing", ""};
  }
  return suite_from_json(*found);
}
}  // namespace

EffortPlan effort_plan(std::string_view word) {
  if (word == "quick") {
    return {.selection = {1, 1, 1},
            .confirmation = {5, 1, 1},
            .plan = cpu_turn(2),
            .other_instances = 3};
  }
  if (word == "thorough") {
    return {.selection = {3, 2, 2}, .confirmation = {8, 3, 2}, .plan = cpu_turn(5)};
  }
  return {.selection = {2, 1, 2}, .confirmation = {5, 3, 1}, .plan = cpu_turn(3)};
}

Plan in_regime(Plan plan, Regime regime, PriorDeviceState device) {
  constexpr double k_sustain_us = 2'000'000, k_sustain_busy_us = 200'000;
  constexpr double k_sustained_timed_us = 200'000;
  plan.regime = regime;
  if (regime == Regime::burst) return plan;
  plan.settle_us =
      std::max(plan.settle_us, device == PriorDeviceState::busy ? k_sustain_busy_us : k_sustain_us);
  plan.timed_us = std::max(plan.timed_us, k_sustained_timed_us);
  return plan;
}

Result<std::pair<PlanKind, Regime>> plan_and_regime(const Json& args) {
  const PlanKind plan = *measure::parse_plan_kind(args.value("plan", "hot"));
  const Regime regime = *measure::parse_regime(args.value("regime", "burst"));
  if (regime != Regime::burst && plan != PlanKind::hot) {
    return Error{ErrorCode::usage, "time in the regime", std::string(to_string(regime)),
                 fmt::format("the plan {} has none", to_string(plan)), "use --plan hot"};
  }
  return std::pair{plan, regime};
}

Json suite_json(const Suite& suite) {
  Json problems = Json::array();
  for (const problem::SuiteProblem& member : suite.problems) {
    problems.push_back({{"problem", to_text(member.problem)},
                        {"name", member.problem.name},
                        {"weight", member.weight},
                        {"held_out", member.held_out}});
    if (member.share_frac) problems.back()["share_frac"] = *member.share_frac;
  }
  return {{"name", suite.name}, {"problems", std::move(problems)}};
}

Result<Suite> suite_from_json(const Json& json) {
  ObjectReader reader(json, "the suite of session_opened");
  Suite suite;
  suite.name = reader.string("name");
  const Json* problems = reader.member("problems");
  WB_TRY(reader.finish(true));
  if (problems == nullptr || !problems->is_array()) {
    return Error{ErrorCode::damaged, "read the suite of", "session_opened", "it has no problems",
                 ""};
  }
  for (const Json& item : *problems) {
    ObjectReader entry(item, "a problem of session_opened");
    problem::SuiteProblem problem;
    const std::string text = entry.string("problem");
    const std::string name = entry.string_or("name", "");
    problem.weight = entry.real_or("weight", 1.0);
    problem.held_out = entry.boolean_or("held_out", false);
    if (item.contains("share_frac")) problem.share_frac = entry.real("share_frac");
    WB_TRY(entry.finish(true));
    WB_TRY_ASSIGN(problem.problem, problem::parse_problem(text));
    problem.problem.name = name;
    suite.problems.push_back(std::move(problem));
  }
  return suite;
}

Result<SessionSettings> settings_from_json(const Json& opened) {
  ObjectReader reader(opened, "session_opened");
  SessionSettings settings;
  settings.backend = reader.string_or("backend", "cpu");
  settings.start_variant = reader.string("start_variant");
  settings.effort = reader.string_or("effort", "standard");
  settings.title = reader.string_or("title", "");
  settings.rivals = reader.strings_or("rivals", {});
  settings.are_rivals_asked_for = reader.boolean_or("rivals_asked_for", false);
  WB_TRY(reader.finish(true));
  const Json& start = member_of(opened, "start");
  if (const std::string id = text_of(start, "variant_id"); !id.empty()) {
    settings.stored_start = {id, configuration_of(member_of(start, "configuration"))};
  }
  WB_TRY_ASSIGN(settings.suite, read_suite(opened));
  WB_TRY_ASSIGN(settings.objective, objective_from_json(opened.value("objective", Json::object())));
  WB_TRY_ASSIGN(settings.budget, budget_from_json(opened.value("budget", Json::object())));
  WB_TRY_ASSIGN(settings.stop, stop_rules_from_json(opened.value("stop", Json::object())));
  WB_TRY_ASSIGN(settings.rates, read_rates(opened));
  return settings;
}

}  // namespace wb::engine
