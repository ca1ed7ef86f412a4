// SPDX-License-Identifier: MIT
// Budgets and stop rules: when a session must not start another iteration. Pure functions
// over the folded session.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/json_fwd.hpp"
#include "session/view.hpp"

namespace wb::engine {

/// Nothing means no limit.
struct Budget {
  std::optional<std::int64_t> evaluations;  ///< iterations after the baseline
  std::optional<double> wall_s;             ///< since open, pauses included
  std::optional<double> usd;
};
struct StopRules {
  std::optional<std::int64_t> plateau;         ///< iterations in a row without a win
  std::optional<std::int64_t> equal_failures;  ///< the same invalidity in a row
};
Json to_json(const Budget& budget);
Json to_json(const StopRules& rules);
Result<Budget> budget_from_json(const Json& json);
Result<StopRules> stop_rules_from_json(const Json& json);

/// Why no further iteration may start ("budget: 10 of 10 evaluations"), or nothing.
/// A money budget with an unknown rate stops nothing and says so in `warning`.
struct StopDecision {
  std::optional<std::string> reason;
  std::optional<std::string> warning;
};
StopDecision stop_decision(const session::SessionView& view, const Budget& budget,
                           const StopRules& rules, double elapsed_s);

/// The largest share of any limit that is used up, 0 without limits.
double budget_share(const session::SessionView& view, const Budget& budget, double elapsed_s);

}  // namespace wb::engine
