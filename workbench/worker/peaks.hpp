// SPDX-License-Identifier: MIT
// Peaks that were calibrated in a disturbed moment lie too low, and would refuse honest kernels as
// faster than the machine. A time that they refuse is reason to calibrate again before anyone does;
// nothing that is measured lies above the true peak, so what is impossible stays so.
#pragma once

#include <functional>

#include "device/device.hpp"
#include "measure/plan.hpp"
#include "problem/problem.hpp"

namespace wb::worker {

/// Each peak of `device` that `again` found higher becomes that; whether any did. What is unknown
/// stays unknown.
bool keep_higher_peaks(device::Device& device, const device::Device& again);

/// So many calibrations for one time, and for one session.
inline constexpr int k_looks_at_peaks = 3, k_most_looks_at_peaks = 30;

/// Calibrates again by `look` while the peaks of `device` refuse `median_us`, and keeps the higher
/// ones; `looks_left` counts down. Whether any peak rose.
bool look_again_at_peaks(device::Device& device, const problem::Problem& problem,
                         measure::PlanKind plan, double median_us, int& looks_left,
                         const std::function<device::Device()>& look);

}  // namespace wb::worker
