// SPDX-License-Identifier: MIT
// Budgets and stop rules: when a session must not start another iteration. Pure functions over the
// folded session.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/json_fwd.hpp"
#include "session/view.hpp"

namespace wb::engine {

/// An absent member means no limit.
struct Budget {
  std::optional<std::int64_t> evaluations;  ///< iterations after the baseline
  std::optional<double> wall_s;             ///< since the session opened, pauses included
  std::optional<double> usd;
};
struct StopRules {
  std::optional<std::int64_t> plateau;         ///< successive iterations without a win
  std::optional<std::int64_t> equal_failures;  ///< successive failures with the same invalidity
};
Json to_json(const Budget& budget);
Json to_json(const StopRules& rules);
Result<Budget> budget_from_json(const Json& json);
Result<StopRules> stop_rules_from_json(const Json& json);

/// Why no further iteration may start ("budget: 10 of 10 evaluations"), or nothing. A money budget
/// without a known rate stops nothing and sets `warning`.
struct StopDecision {
  std::optional<std::string> reason;
  std::optional<std::string> warning;
};
StopDecision stop_decision(const session::SessionView& view, const Budget& budget,
                           const StopRules& rules, double elapsed_s);

/// The largest used share of any limit; 0 without limits.
double budget_share(const session::SessionView& view, const Budget& budget, double elapsed_s);

}  // namespace wb::engine
