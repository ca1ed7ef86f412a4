// SPDX-License-Identifier: MIT
// Roofline refusal: a time below what the device's peak allows cannot have been measured. The FLOP
// bound holds in every plan, the byte bound only in the cold plan and for bytes that must be read.
// Used by engine (refusal) and analyze (the floors).
#pragma once

#include <optional>
#include <string>

#include "device/device.hpp"
#include "measure/plan.hpp"
#include "problem/problem.hpp"

namespace wb::measure {

struct RooflineFloor {
  double flop_us = 0;    ///< work.flops at the peak of the problem's dtype; 0 when unknown
  double byte_us = 0;    ///< bytes that must be read, at the memory's peak; 0 when unknown
  std::string limiting;  ///< the larger of the two: "flops" or "bytes"; or "unknown"
  /// work.flops at the highest known peak of any dtype; refusal uses it. An honest f32 kernel may
  /// split its products over faster units and beat the f32 peak.
  double least_flop_us = 0;
  [[nodiscard]] double floor_us(PlanKind plan) const;  ///< the bound that applies in this plan
};
RooflineFloor roofline_floor(const device::Device& device, const problem::Problem& problem,
                             const problem::Work& work);

/// How far below the floor a time may be before it is refused, since the peak itself has an error.
inline constexpr double k_roofline_tolerance_frac = 0.05;

/// A reason to refuse when median_us is below the floor by more than the tolerance, else nothing.
/// NaN and non-positive times are refused.
std::optional<std::string> refuse_below_roofline(const RooflineFloor& floor, PlanKind plan,
                                                 double median_us);

}  // namespace wb::measure
