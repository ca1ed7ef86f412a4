// SPDX-License-Identifier: MIT
// A session's noise floors: whether they can serve, and how they are measured again. Called by the
// baseline, by `remeasure_floor`, and by an iteration before it compares.
#pragma once

#include "core/json_fwd.hpp"
#include "engine/timing.hpp"

namespace wb::engine {

/// Makes and logs the floors of each problem and plan from two lanes of the same code, subjects 0
/// and 1 of the request. A floor that cannot serve never replaces one that can; of two that cannot,
/// the narrower is kept. Returns a row each: problem, plan, floor_frac, between_instance_frac,
/// cannot_show_frac, used, unfit (the reason, or "").
Result<Json> record_floors(Context& context, const TimingRequest& request,
                           const TimingResult& result);

/// Before a comparison: measures unfit floors of these problems under the objective's plan again,
/// in case the machine is quieter now; at most twice per process.
Result<void> renew_unfit_floors(Context& context, const std::vector<problem::Problem>& problems);

/// The body of `remeasure_floor`.
Result<Json> remeasure_floor(Context& context, const Json& args);

/// The gains that confirmation cannot detect, for the answer of `open`: a row for each problem
/// under the objective's plan.
Json cannot_show(const Context& context);
/// The same in words: one line for the largest such gain and one for unfit floors.
std::string cannot_show_text(const Json& rows);

}  // namespace wb::engine
