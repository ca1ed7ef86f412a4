// SPDX-License-Identifier: MIT
// The rules of a session: its objective, which decides about the incumbent, its budget and when it
// stops.
#include <cmath>

#include "core/json.hpp"
#include "engine/settings.hpp"
#include "engine/spending.hpp"
#include "measure/comparison.hpp"
#include "session/view.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::engine;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::session;

namespace {

SuiteProblem named_problem(const std::string& name, double weight = 1.0, bool held_out = false) {
  SuiteProblem member;
  member.problem = *parse_problem("B=1 Hq=1 Sq=8 D=4");
  member.problem.name = name;
  member.weight = weight;
  member.held_out = held_out;
  return member;
}

Comparison ratio(double speedup, double half_frac, double floor = 0.01) {
  Comparison comparison;
  comparison.speedup = speedup;
  comparison.interval = {speedup * (1 - half_frac), speedup * (1 + half_frac), 0.99};
  comparison.noise_floor_frac = floor;
  comparison.outcome = classify(comparison.interval, floor, floor);
  comparison.instances = 3;
  comparison.rounds = 3;
  return comparison;
}

ProblemScore scored(const std::string& name, double speedup, double us = 100, double weight = 1) {
  return {named_problem(name, weight), ratio(speedup, 0.01), us, 0.02};
}

}  // namespace

TEST_CASE("the geometric mean counts each problem by its weight", "[engine][objective]") {
  const std::vector<ProblemScore> scores{scored("a", 2.0), scored("b", 0.5)};
  CHECK(score(Objective{}, scores).speedup == Approx(1.0));
  const std::vector<ProblemScore> weighted{scored("a", 2.0, 100, 3), scored("b", 0.5)};
  CHECK(score(Objective{}, weighted).speedup == Approx(std::pow(2.0, 0.5)));
}

TEST_CASE("a problem the candidate does not take counts as exactly 1", "[engine][objective]") {
  std::vector<ProblemScore> scores{scored("a", 4.0)};
  scores.push_back({named_problem("b"), std::nullopt, 0, 0});
  const Comparison total = score(Objective{}, scores);
  CHECK(total.speedup == Approx(2.0));
  CHECK(total.outcome == ComparisonOutcome::faster);
}

TEST_CASE("weighted time is the ratio of the summed times", "[engine][objective]") {
  Objective objective;
  objective.rule = ObjectiveRule::weighted_time;
  // 900 us that halve and 100 us that stay: 1000 / 550.
  const std::vector<ProblemScore> scores{scored("long", 2.0, 900), scored("short", 1.0, 100)};
  CHECK(score(objective, scores).speedup == Approx(1000.0 / 550.0));
}

TEST_CASE("one problem alone decides when the rule says so", "[engine][objective]") {
  Objective objective;
  objective.rule = ObjectiveRule::one_problem;
  objective.problem = "b";
  const std::vector<ProblemScore> scores{scored("a", 9.0), scored("b", 1.5)};
  CHECK(score(objective, scores).speedup == Approx(1.5));
}

TEST_CASE("a hole is never averaged away", "[engine][objective]") {
  std::vector<ProblemScore> scores{scored("a", 5.0), scored("b", 5.0)};
  scores[1].comparison->speedup = std::nan("");
  scores[1].comparison->interval = {std::nan(""), std::nan(""), 0.99};
  scores[1].comparison->reason = "foreign load";
  const Comparison total = score(Objective{}, scores);
  CHECK(total.outcome == ComparisonOutcome::ambiguous);
  CHECK(std::isnan(total.speedup));
  CHECK(total.reason.find("foreign load") != std::string::npos);
  CHECK(refusal(Objective{}, total, scores).has_value());
  CHECK(score(Objective{}, {}).outcome == ComparisonOutcome::ambiguous);
}

TEST_CASE("only faster than the noise floor may change the incumbent", "[engine][objective]") {
  const auto verdict = [](double speedup) {
    const std::vector<ProblemScore> scores{scored("a", speedup)};
    return refusal(Objective{}, score(Objective{}, scores), scores);
  };
  CHECK_FALSE(verdict(1.10).has_value());
  CHECK(verdict(1.015).has_value());  // interval reaches into the floor
  CHECK(verdict(1.0).has_value());
  CHECK(verdict(0.8).has_value());
}

TEST_CASE("the guard refuses a gain that costs one problem too much", "[engine][objective]") {
  Objective objective;
  objective.min_speedup = 0.95;
  std::vector<ProblemScore> scores{scored("a", 3.0), scored("b", 0.9)};
  const auto reason = refusal(objective, score(objective, scores), scores);
  REQUIRE(reason.has_value());
  CHECK(reason->find("b") != std::string::npos);
  scores[1] = scored("b", 0.96);
  CHECK_FALSE(refusal(objective, score(objective, scores), scores).has_value());
  scores[1].comparison->speedup = std::nan("");
  CHECK(refusal(objective, score(objective, scores), scores).has_value());
}

TEST_CASE("an objective survives JSON and refuses unknown words", "[engine][objective]") {
  Objective objective;
  objective.rule = ObjectiveRule::one_problem;
  objective.problem = "n6_S64";
  objective.plan = PlanKind::cold;
  objective.min_speedup = 0.9;
  const auto back = objective_from_json(to_json(objective));
  REQUIRE(back.ok());
  CHECK(to_json(*back) == to_json(objective));
  CHECK_FALSE(objective_from_json({{"rule", "fastest"}}).ok());
  CHECK_FALSE(objective_from_json({{"plan", "lukewarm"}}).ok());
}

namespace {

SessionView with_outcomes(const std::vector<std::pair<std::string, std::string>>& outcomes) {
  SessionView view;
  for (const auto& [outcome, invalidity] : outcomes) {
    IterationView iteration;
    iteration.number = static_cast<std::int64_t>(view.iterations.size());
    iteration.closed = Fact{
        1,
        "",
        {{"outcome", outcome}, {"invalidity", invalidity.empty() ? Json() : Json(invalidity)}}};
    view.iterations.push_back(std::move(iteration));
  }
  return view;
}

std::string reason(const SessionView& view, const Budget& budget, const StopRules& rules = {},
                   double elapsed_s = 0) {
  return stop_decision(view, budget, rules, elapsed_s).reason.value_or("");
}

}  // namespace

TEST_CASE("evaluations count iterations after the baseline", "[engine][budget]") {
  Budget budget;
  budget.evaluations = 2;
  CHECK(reason(with_outcomes({{"baseline", ""}, {"win", ""}}), budget).empty());
  // What was abandoned was not evaluated.
  CHECK(reason(with_outcomes({{"baseline", ""}, {"win", ""}, {"abandoned", ""}}), budget).empty());
  CHECK(reason(with_outcomes({{"baseline", ""}, {"win", ""}, {"invalid", "compile"}}), budget) ==
        "budget: 2 of 2 evaluations");
  budget.evaluations = 0;
  CHECK_FALSE(reason(with_outcomes({{"baseline", ""}}), budget).empty());
}

TEST_CASE("wall time stops", "[engine][budget]") {
  Budget budget;
  budget.wall_s = 60;
  CHECK(reason({}, budget, {}, 59.9).empty());
  CHECK_FALSE(reason({}, budget, {}, 60.0).empty());
}

TEST_CASE("a plateau is iterations in a row without a win", "[engine][budget]") {
  StopRules rules;
  rules.plateau = 2;
  CHECK(reason(with_outcomes({{"no_gain", ""}, {"win", ""}, {"no_gain", ""}}), {}, rules).empty());
  CHECK_FALSE(
      reason(with_outcomes({{"win", ""}, {"no_gain", ""}, {"invalid", "compile"}}), {}, rules)
          .empty());
}

TEST_CASE("equal failures in a row stop, faults of the machine do not", "[engine][budget]") {
  StopRules rules;
  rules.equal_failures = 2;
  CHECK_FALSE(
      reason(with_outcomes({{"invalid", "compile"}, {"invalid", "compile"}}), {}, rules).empty());
  CHECK(reason(with_outcomes({{"invalid", "compile"}, {"invalid", "timeout"}}), {}, rules).empty());
  CHECK(reason(with_outcomes({{"invalid", "environment"}, {"invalid", "environment"}}), {}, rules)
            .empty());
}

TEST_CASE("money without a rate stops nothing and says so", "[engine][budget]") {
  Budget budget;
  budget.usd = 1.0;
  SessionView view;
  view.ledger.debit(CostItem::device, 3600, std::nullopt);
  const StopDecision open = stop_decision(view, budget, {}, 0);
  CHECK_FALSE(open.reason.has_value());
  CHECK(open.warning.has_value());
  view.ledger.debit(CostItem::compile_cpu, 3600, 1.0);
  CHECK(stop_decision(view, budget, {}, 0).reason.has_value());
}

TEST_CASE("budgets and stop rules survive JSON", "[engine][budget]") {
  Budget budget;
  budget.evaluations = 3;
  budget.usd = 0.5;
  CHECK(to_json(*budget_from_json(to_json(budget))) == to_json(budget));
  StopRules rules;
  rules.plateau = 4;
  CHECK(to_json(*stop_rules_from_json(to_json(rules))) == to_json(rules));
  CHECK_FALSE(budget_from_json({{"evaluations", -1}}).ok());
  CHECK_FALSE(budget_from_json({{"wall_s", "long"}}).ok());
  CHECK_FALSE(budget_from_json({{"hours", 3}}).ok());
}
