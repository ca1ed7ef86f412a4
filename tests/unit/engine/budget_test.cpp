// SPDX-License-Identifier: MIT
#include "core/json.hpp"
#include "engine/spending.hpp"

#include "support/catch.hpp"

using namespace wb;
using namespace wb::engine;
using namespace wb::session;

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
