// SPDX-License-Identifier: MIT
// First calls on fresh inputs, which tell who is fast only on what it has seen before.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/timing.hpp"

namespace wb::engine {

/// After an instance's turns on a problem, while its processes live: first calls of subject 0 and
/// of those that it is ahead of, an event. Errors: only those of the log.
Result<void> take_first_calls(Context& context, const TimingRequest& request, std::size_t problem,
                              std::int64_t instance, SubjectProcesses& processes,
                              TimingResult& result);
/// Once all turns are taken: subject 0 fails where its timed calls leave out work.
void refuse_left_out_work(const TimingRequest& request, TimingResult& result,
                          measure::PlanKind objectives_plan);
/// What fresh inputs say of subject 0 beside another under one plan; nothing where nothing is to be
/// said: it is not ahead, or first calls were not asked for.
std::optional<measure::FreshOutcome> fresh_outcome(const TimingRequest& request,
                                                   const TimingResult& result, std::size_t problem,
                                                   std::size_t plan, std::size_t subject,
                                                   measure::PlanKind objectives_plan,
                                                   const measure::Comparison& comparison);

}  // namespace wb::engine
