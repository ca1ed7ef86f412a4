// SPDX-License-Identifier: MIT
// Lanes: the turns of one subject on one problem, what they come to, and what keeps a lane from
// having a figure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/invalidity.hpp"
#include "core/json_fwd.hpp"
#include "measure/conditions.hpp"
#include "measure/plan.hpp"
#include "measure/statistics.hpp"
#include "problem/problem.hpp"

namespace wb::engine {

struct Context;

/// Of every resampling of turns; fixed: the same log gives the same report.
inline constexpr std::uint64_t k_bootstrap_seed = 20'250'101;

/// One subject's turns on one problem under one plan.
struct Lane {
  std::vector<measure::Turn> turns;
  /// The flags of turns that were left out (is_disturbed) where a place had no clean one.
  std::set<std::string, std::less<>> disturbed_by;
  std::optional<Failure> failure;  ///< the subject failed here; it has no figure
};

/// NaN where no turn counts: nothing was measured, and 0 would be a figure.
double lane_median_us(const Lane& lane);
/// The figure, or null where it is none: not finite, or not above 0.
Json figure_or_null(double value);
/// Why there is no figure; empty where there is one.
std::string why_no_figure(const Lane& lane);
/// Two lanes of the same code in one list, numbered as the distinct processes they are.
std::vector<measure::Turn> same_code_turns(const Lane& first, const Lane& second);
/// {candidate, against}: GpuConditions of all turns of each that count.
Json conditions_of(const Lane& candidate, const Lane& against);
/// Of all the lane's turns that count; nothing where there are none on a GPU.
std::optional<measure::GpuConditions> conditions_of(const Lane& lane);
std::vector<std::string> flags_of(const Lane& one, const Lane& other);  ///< sorted, each once
/// Times below the roofline were not measured: such a lane has no figure.
void refuse_impossible(const Context& context, const problem::Problem& problem,
                       measure::PlanKind plan, Lane& lane);
/// A lane with no clean turn has no figure, and the machine is at fault.
void fail_if_disturbed(Lane& lane);

}  // namespace wb::engine
