// SPDX-License-Identifier: MIT
// Observations that differ in one size only, and the power law through them. Shared by the analyses
// that ask how time grows: of one subject, beside another, over heads that a grid may miss.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/finding.hpp"

namespace wb::analyze {

struct ScalingPoint {
  std::int64_t size = 0;  ///< of the axis
  double work_flops = 0, time_us = 0;
  const measure::Observation* observation = nullptr;  ///< into the observations that were given
};

/// One subject under one plan, on problems that differ in the axis only.
struct ScalingFamily {
  std::string_view axis;  ///< "B*Hq", "S", "Skv" or "D"
  std::string rest;       ///< what the problems share, as text; equal for equal families
  std::string subject;
  measure::PlanKind plan = measure::PlanKind::hot;
  std::vector<ScalingPoint> points;  ///< by work, ascending
};

/// In the order of the axes, then of the observations. Those without a time are left out; families
/// of one point are not.
std::vector<ScalingFamily> scaling_families(std::span<const measure::Observation> observations);

/// time = c work^exponent by least squares on logs.
struct PowerFit {
  double exponent = 0, standard_error = 0;
  double low = 0, high = 0;  ///< 95 %: exponent ± t(n - 2) standard errors; from how far the points
                             ///< lie off the line, not from the noise of each
};
/// For three points or more, not all of the same work.
PowerFit fit_power(std::span<const ScalingPoint> points);

/// Ratio of the largest to the smallest work.
double work_range(const ScalingFamily& family);
/// Events of all points, in their order.
std::vector<std::int64_t> events_of(const ScalingFamily& family);

}  // namespace wb::analyze
