// SPDX-License-Identifier: MIT
// First calls on fresh inputs, which detect a subject that is fast only on inputs it has seen.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/timing.hpp"

namespace wb::engine {

/// After an instance's turns on a problem, while its processes live: takes first calls of subject 0
/// and of those that it leads, and logs them. Errors: only those of the log.
Result<void> take_first_calls(Context& context, const TimingRequest& request, std::size_t problem,
                              std::int64_t instance, SubjectProcesses& processes,
                              TimingResult& result);
/// After all turns: fails subject 0 if its timed calls leave out work.
void refuse_left_out_work(const TimingRequest& request, TimingResult& result,
                          measure::PlanKind objectives_plan);
/// The outcome of fresh inputs for subject 0 beside another under one plan; nothing when subject 0
/// does not lead or first calls were not requested.
std::optional<measure::FreshOutcome> fresh_outcome(const TimingRequest& request,
                                                   const TimingResult& result, std::size_t problem,
                                                   std::size_t plan, std::size_t subject,
                                                   measure::PlanKind objectives_plan,
                                                   const measure::Comparison& comparison);

}  // namespace wb::engine
