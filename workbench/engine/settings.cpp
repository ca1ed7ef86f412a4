// SPDX-License-Identifier: MIT
#include "engine/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "measure/comparison.hpp"

namespace wb::engine {

using measure::Comparison;
using problem::Suite;

namespace {

constexpr std::array<std::pair<ObjectiveRule, std::string_view>, 3> k_rule_words{{
    {ObjectiveRule::geomean_speedup, "geomean_speedup"},
    {ObjectiveRule::weighted_time, "weighted_time"},
    {ObjectiveRule::one_problem, "one_problem"},
}};

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> real_or_nothing(ObjectReader& reader, std::string_view key) {
  const Json* member = reader.member(key);
  if (member == nullptr || member->is_null()) return std::nullopt;
  return reader.real(key);
}

std::optional<std::int64_t> integer_or_nothing(ObjectReader& reader, std::string_view key) {
  const Json* member = reader.member(key);
  if (member == nullptr || member->is_null()) return std::nullopt;
  return reader.integer(key, 0, 1'000'000'000);
}

/// A problem that the candidate does not support stays with the incumbent: exactly 1, no spread.
Comparison unchanged(double confidence) {
  Comparison comparison;
  comparison.speedup = 1.0;
  comparison.interval = {1.0, 1.0, confidence};
  comparison.outcome = measure::ComparisonOutcome::same;
  comparison.reason = "not supported by the candidate: stays with the incumbent";
  return comparison;
}

Result<void> check_rates(const Json& opened) {
  const auto found = opened.find("rates");
  if (found != opened.end()) WB_TRY(session::rates_from_json(*found));
  return {};
}

Result<Suite> read_suite(const Json& opened) {
  const auto found = opened.find("suite");
  if (found == opened.end()) {
    return Error{ErrorCode::damaged, "read the suite of", "session_opened", "it is missing", ""};
  }
  return suite_from_json(*found);
}

}  // namespace

std::string_view to_string(ObjectiveRule value) {
  for (const auto& [rule, word] : k_rule_words) {
    if (rule == value) return word;
  }
  return "geomean_speedup";
}

std::optional<ObjectiveRule> parse_objective_rule(std::string_view word) {
  for (const auto& [rule, text] : k_rule_words) {
    if (text == word) return rule;
  }
  return std::nullopt;
}

Json to_json(const Objective& objective) {
  Json json{{"rule", to_string(objective.rule)},
            {"plan", to_string(objective.plan)},
            {"regime", to_string(objective.regime)},
            {"min_speedup", objective.min_speedup}};
  if (!objective.problem.empty()) json["problem"] = objective.problem;
  return json;
}

Result<Objective> objective_from_json(const Json& json) {
  ObjectReader reader(json, "the objective");
  Objective objective;
  const auto rule = parse_objective_rule(reader.string_or("rule", "geomean_speedup"));
  const auto plan = measure::parse_plan_kind(reader.string_or("plan", "hot"));
  const auto regime = measure::parse_regime(reader.string_or("regime", "burst"));
  if (!rule) reader.fail("rule", "is not a known rule");
  if (!plan) reader.fail("plan", "is not a known plan");
  if (!regime) reader.fail("regime", "is not a known regime");
  objective.min_speedup = reader.real_or("min_speedup", 0);
  objective.problem = reader.string_or("problem", "");
  WB_TRY(reader.finish());
  objective.rule = *rule;
  objective.plan = *plan;
  objective.regime = *regime;
  return objective;
}

Comparison score(const Objective& objective, std::span<const ProblemScore> scores) {
  std::vector<Comparison> comparisons;
  std::vector<double> weights, incumbent_us;
  double floor_sum = 0, margin_sum = 0, weight_sum = 0;
  std::int64_t instances = 0, rounds = 0;
  for (const ProblemScore& item : scores) {
    if (objective.rule == ObjectiveRule::one_problem &&
        problem::label(item.problem.problem) != objective.problem) {
      continue;
    }
    Comparison part = item.comparison ? *item.comparison : unchanged(0.99);
    const double weight = item.problem.weight;
    if (item.comparison) {
      instances = instances == 0 ? part.instances : std::min(instances, part.instances);
      rounds = rounds == 0 ? part.rounds : std::min(rounds, part.rounds);
      floor_sum += weight * part.noise_floor_frac;
      margin_sum += weight * std::min(item.same_margin_frac, measure::k_most_same_margin_frac);
    }
    weight_sum += weight;
    comparisons.push_back(std::move(part));
    weights.push_back(weight);
    incumbent_us.push_back(item.incumbent_us);
  }
  Comparison total;
  total.speedup = std::nan("");
  total.interval = {std::nan(""), std::nan(""), 0.99};
  for (const Comparison& part : comparisons) {
    if (part.speedup > 0 && part.interval.low > 0) continue;
    total.reason = "no valid samples on every problem: " + part.reason;
    return total;
  }
  if (comparisons.empty()) {
    total.reason = "no problem to score";
    return total;
  }
  const measure::Aggregate aggregate =
      objective.rule == ObjectiveRule::weighted_time
          ? measure::weighted_time_speedup(comparisons, incumbent_us, weights)
          : measure::geometric_mean(comparisons, weights);
  total.speedup = aggregate.value;
  total.interval = aggregate.interval;
  total.noise_floor_frac = floor_sum / weight_sum;
  total.instances = instances;
  total.rounds = rounds;
  total.outcome = measure::classify(total.interval, total.noise_floor_frac,
                                    std::max(total.noise_floor_frac, margin_sum / weight_sum));
  total.reason = fmt::format("{} over {} problem{}", to_string(objective.rule), comparisons.size(),
                             comparisons.size() == 1 ? "" : "s");
  if (measure::is_uninformative(total.interval)) {
    total.interval = {std::nan(""), std::nan(""), total.interval.confidence};
    total.reason +=
        ": the interval says nothing, because processes of the same code differ so much";
  }
  return total;
}

std::optional<std::string> refusal(const Objective& objective, const Comparison& total,
                                   std::span<const ProblemScore> scores) {
  if (total.outcome != measure::ComparisonOutcome::faster) {
    std::string reason = fmt::format("the objective is {}, not faster", to_string(total.outcome));
    for (const ProblemScore& item : scores) {
      if (item.veto.empty()) continue;
      reason += fmt::format(
          "; {}: {}",
          item.problem.held_out ? "a held-out problem" : problem::label(item.problem.problem),
          item.veto);
    }
    return reason;
  }
  if (objective.min_speedup > 0) {
    for (const ProblemScore& item : scores) {
      if (!item.comparison) continue;
      if (!(item.comparison->speedup >= objective.min_speedup)) {
        return fmt::format("{} is at {:.3f}x, below the guard min_speedup {:.3f}x",
                           problem::label(item.problem.problem), item.comparison->speedup,
                           objective.min_speedup);
      }
    }
  }
  return std::nullopt;
}

Json to_json(const Budget& budget) {
  return {{"evaluations", or_null(budget.evaluations)},
          {"wall_s", or_null(budget.wall_s)},
          {"usd", or_null(budget.usd)}};
}

Json to_json(const StopRules& rules) {
  return {{"plateau", or_null(rules.plateau)}, {"equal_failures", or_null(rules.equal_failures)}};
}

Result<Budget> budget_from_json(const Json& json) {
  ObjectReader reader(json, "the budget");
  Budget budget;
  budget.evaluations = integer_or_nothing(reader, "evaluations");
  budget.wall_s = real_or_nothing(reader, "wall_s");
  budget.usd = real_or_nothing(reader, "usd");
  WB_TRY(reader.finish());
  return budget;
}

Result<StopRules> stop_rules_from_json(const Json& json) {
  ObjectReader reader(json, "the stop rules");
  StopRules rules;
  rules.plateau = integer_or_nothing(reader, "plateau");
  rules.equal_failures = integer_or_nothing(reader, "equal_failures");
  WB_TRY(reader.finish());
  return rules;
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
  WB_TRY(check_rates(opened));
  settings.prices = session::prices_of(opened, Json(nullptr));
  return settings;
}

}  // namespace wb::engine
