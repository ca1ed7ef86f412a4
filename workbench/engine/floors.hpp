// SPDX-License-Identifier: MIT
// A session's noise floors, whether they can serve, and how they are taken
// again. Who calls: the baseline, which takes them first, `remeasure_floor`, and an iteration
// before it compares.
#pragma once

#include "core/json_fwd.hpp"
#include "engine/timing.hpp"

namespace wb::engine {

/// From two lanes of the same code, subjects 0 and 1 of the request, the floors of each problem and
/// plan, each an event. A floor that cannot serve takes nobody's place: of two such the narrower
/// stands. Returns a row for each: problem, plan, floor_frac, between_instance_frac,
/// cannot_show_frac, used, unfit (why it cannot serve, or "").
Result<Json> record_floors(Context& context, const TimingRequest& request,
                           const TimingResult& result);

/// Before a comparison: the floors of these problems under the objective's plan that cannot serve
/// are taken once more, while the machine may be calm, twice at most in this process.
Result<void> renew_unfit_floors(Context& context, const std::vector<problem::Problem>& problems);

/// `remeasure_floor`.
Result<Json> remeasure_floor(Context& context, const Json& args);

/// What the floors let nobody see at confirmation, for the answer of `open`: a row for each problem
/// under the objective's plan.
Json cannot_show(const Context& context);
/// The same in words, a line each for the largest gain and for what cannot serve.
std::string cannot_show_text(const Json& rows);

}  // namespace wb::engine
