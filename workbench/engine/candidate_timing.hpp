// SPDX-License-Identifier: MIT
// Confirmation of hot plans in both regimes. iteration.cpp measures, comparing.cpp decides.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "engine/timing.hpp"

namespace wb::engine {

/// Hot turns of subjects 0 and 1 in the regime that the objective does not name.
struct OtherRegime {
  TimingRequest request;
  TimingResult result;
};
/// After a confirmation's turns, on a GPU with a hot objective: times the compute-bound problems in
/// the other regime too, in fresh processes with new instance numbers. Nothing when there is no
/// such problem. Errors: as time_subjects().
Result<std::optional<OtherRegime>> time_other_regime(Context& context, const TimingRequest& request,
                                                     const TimingResult& result);

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
