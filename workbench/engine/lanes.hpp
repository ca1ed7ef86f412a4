// SPDX-License-Identifier: MIT
// Lanes: the turns of one subject on one problem, their figure, and the reasons for having none.
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

/// Seed of all resampling of turns; fixed, so that the same log gives the same report.
inline constexpr std::uint64_t k_bootstrap_seed = 20'250'101;

/// One subject's turns on one problem under one plan.
struct Lane {
  std::vector<measure::Turn> turns;
  /// Flags of left-out turns (is_disturbed) in cells without a clean turn.
  std::set<std::string, std::less<>> disturbed_by;
  std::optional<Failure> failure;  ///< the subject failed, so the lane has no figure
};

/// NaN when no turn counts, since 0 would be a figure.
double lane_median_us(const Lane& lane);
/// The value, or null when it is not finite or not above 0.
Json figure_or_null(double value);
/// Why there is no figure; empty where there is one.
std::string why_no_figure(const Lane& lane);
/// Two lanes of the same code as one list, with distinct instance numbers since they are distinct
/// processes.
std::vector<measure::Turn> same_code_turns(const Lane& first, const Lane& second);
/// {candidate, against}: GpuConditions of the turns of each that count.
Json conditions_of(const Lane& candidate, const Lane& against);
/// Conditions of all turns that count; nothing without a GPU.
std::optional<measure::GpuConditions> conditions_of(const Lane& lane);
std::vector<std::string> flags_of(const Lane& one, const Lane& other);  ///< sorted and unique
/// A time below the roofline cannot have been measured: such a lane gets no figure.
void refuse_impossible(const Context& context, const problem::Problem& problem,
                       measure::PlanKind plan, Lane& lane);
/// A lane without a clean turn gets no figure, and the failure is `environment`.
void fail_if_disturbed(Lane& lane);

}  // namespace wb::engine
