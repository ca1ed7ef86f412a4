// SPDX-License-Identifier: MIT
// Families of observations that differ in one size only, and a power-law fit through each. Shared
// by the analyses of scaling.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/finding.hpp"

namespace wb::analyze {

struct ScalingPoint {
  std::int64_t size = 0;  ///< value of the axis
  double work_flops = 0, time_us = 0;
  const measure::Observation* observation = nullptr;  ///< into the given observations
};

/// One subject under one plan, on problems that differ in the axis only.
struct ScalingFamily {
  std::string_view axis;  ///< "B*Hq", "S", "Skv" or "D"
  std::string rest;       ///< the common part of the problems, as text; equal for equal families
  std::string subject;
  measure::PlanKind plan = measure::PlanKind::hot;
  std::vector<ScalingPoint> points;  ///< by work, ascending
};

/// In the order of the axes, then of the observations. Observations without a time and families of
/// one point are left out.
std::vector<ScalingFamily> scaling_families(std::span<const measure::Observation> observations);

/// time = c work^exponent by least squares on logs.
struct PowerFit {
  double exponent = 0, standard_error = 0;
  /// 95 %: exponent ± t(n - 2) standard errors, from the residuals and not from the noise of each
  /// point.
  double low = 0, high = 0;
};
/// Needs three points or more, with different work.
PowerFit fit_power(std::span<const ScalingPoint> points);

/// Ratio of the largest to the smallest work.
double work_range(const ScalingFamily& family);
/// Events of all points, in their order.
std::vector<std::int64_t> events_of(const ScalingFamily& family);

}  // namespace wb::analyze
