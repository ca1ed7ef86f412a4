// SPDX-License-Identifier: MIT
// Stages 5 and 6 of an iteration: turns of candidate and incumbent and, at confirmation, the rivals
// and the regime that the objective does not name; then the comparisons.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "engine/timing.hpp"

namespace wb::engine {

struct Run;  // iteration.hpp

/// Times the candidate beside the incumbent (and the rivals); `phase` is "selection" or
/// "confirmation". Fills total or failure.
Result<void> time_candidate(Context& context, Run& run, const std::string& phase);
/// The speedup, or null without one.
Json speedup_or_null(const std::optional<measure::Comparison>& total);

/// Hot turns of subjects 0 and 1 in the regime that the objective does not name.
struct OtherRegime {
  TimingRequest request;
  TimingResult result;
};
struct BothRegimes {
  measure::Comparison comparison;  ///< combine_regimes()
  Json figures;                    ///< {regime: its comparison's figures}, for the log
};
/// `own`: subject 0 beside 1 under the objective. Nothing for a problem that was not timed in the
/// other regime.
std::optional<BothRegimes> combine_with(const Context& context, const OtherRegime& other,
                                        const problem::Problem& problem,
                                        const measure::Comparison& own,
                                        const std::vector<Lane>& own_lanes,
                                        std::pair<std::int64_t, std::int64_t> own_turns);

}  // namespace wb::engine
