// SPDX-License-Identifier: MIT
// Statistics of timed samples of one subject: its figures and the A/A noise floor. Pure, and
// deterministic for a given seed. docs/contracts/measurement.md has the formulas and their reasons.
#pragma once

#include <cstdint>
#include <span>

#include "measure/figures.hpp"
#include "measure/plan.hpp"

namespace wb::measure {

/// median_us: median of each turn, then of the turns of an instance, then geometric mean over
/// instances. p90 and min are of the pooled samples. Without turns, or with a sample that is not a
/// positive finite time, every figure is k_unknown.
Measurement summarize(std::span<const Turn> turns_of_one_subject, std::uint64_t seed);

/// Figures stay k_unknown with fewer than 2 instances, with more than a quarter of the turns
/// disturbed (up to that, disturbed turns are left out) or with an unusable sample.
NoiseFloor noise_floor(std::span<const Turn> turns_of_same_code);
/// One floor for a problem class from the floors of several problems: pooled s, summed degrees of
/// freedom (a smaller t). Floors without figures are skipped.
NoiseFloor pool(std::span<const NoiseFloor> floors_of_one_class);

}  // namespace wb::measure
