// SPDX-License-Identifier: MIT
#include "engine/spending.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"

namespace wb::engine {
namespace {

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

std::string closed_word(const session::IterationView& iteration, std::string_view field) {
  if (!iteration.closed) return {};
  const auto found = iteration.closed->payload.find(field);
  if (found == iteration.closed->payload.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

}  // namespace

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

StopDecision stop_decision(const session::SessionView& view, const Budget& budget,
                           const StopRules& rules, double elapsed_s) {
  StopDecision decision;
  std::int64_t evaluations = 0, without_win = 0, equal_failures = 0;
  std::string last_failure;
  for (const session::IterationView& iteration : view.iterations) {
    const std::string outcome = closed_word(iteration, "outcome");
    if (outcome.empty() || outcome == "baseline" || outcome == "abandoned") continue;
    ++evaluations;
    without_win = outcome == "win" ? 0 : without_win + 1;
    const std::string failure = outcome == "invalid" ? closed_word(iteration, "invalidity") : "";
    // A fault of the machine never counts against the variants.
    if (failure == "environment") continue;
    equal_failures = failure.empty() ? 0 : (failure == last_failure ? equal_failures + 1 : 1);
    last_failure = failure;
  }
  if (budget.evaluations && evaluations >= *budget.evaluations) {
    decision.reason = fmt::format("budget: {} of {} evaluations", evaluations, *budget.evaluations);
  } else if (budget.wall_s && elapsed_s >= *budget.wall_s) {
    decision.reason =
        fmt::format("budget: {:.0f} of {:.0f} s wall time", elapsed_s, *budget.wall_s);
  } else if (rules.plateau && without_win >= *rules.plateau) {
    decision.reason = fmt::format("plateau: {} iterations without a win", without_win);
  } else if (rules.equal_failures && equal_failures >= *rules.equal_failures) {
    decision.reason = fmt::format("{} {} failures in a row", equal_failures, last_failure);
  }
  if (budget.usd) {
    const session::Ledger::Total total = view.ledger.total();
    if (total.usd >= *budget.usd && !decision.reason) {
      decision.reason = fmt::format("budget: ${:.2f} of ${:.2f}", total.usd, *budget.usd);
    }
    if (!total.complete) {
      decision.warning =
          "a money budget is set, but some rates are not given: costs without a rate "
          "do not count";
    }
  }
  return decision;
}

double budget_share(const session::SessionView& view, const Budget& budget, double elapsed_s) {
  double share = 0;
  const auto take = [&](double used, double limit) {
    if (limit > 0) share = std::max(share, used / limit);
  };
  if (budget.evaluations) {
    const auto tried =
        std::count_if(view.iterations.begin(), view.iterations.end(), [](const auto& iteration) {
          const std::string outcome = closed_word(iteration, "outcome");
          return !outcome.empty() && outcome != "baseline" && outcome != "abandoned";
        });
    take(static_cast<double>(tried), static_cast<double>(*budget.evaluations));
  }
  if (budget.wall_s) take(elapsed_s, *budget.wall_s);
  if (budget.usd) take(view.ledger.total().usd, *budget.usd);
  return share;
}

}  // namespace wb::engine
