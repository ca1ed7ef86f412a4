// SPDX-License-Identifier: MIT
// Two subjects compared: the hierarchical bootstrap over instances and rounds, the three-way
// outcome and aggregates over problems. Pure, and deterministic for a given seed.
// docs/contracts/measurement.md has the formulas and their reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "measure/figures.hpp"
#include "measure/plan.hpp"

namespace wb::measure {

struct CompareOptions {
  double confidence = 0.99;
  int resamples = 2'000;
  std::uint64_t seed = 1;
  double noise_floor_frac = 0;  ///< NoiseFloor::floor_frac of this problem class
  /// NoiseFloor::between_instance_frac. It widens the interval with fewer than min_instances
  /// processes, and bounds `same`. Absent: not measured.
  std::optional<double> between_instance_floor_frac;
  /// NoiseFloor::instance_sd_frac, which bounds from below the interval of min_instances processes
  /// or more. 0: not measured.
  double instance_sd_frac = 0;
  std::int64_t min_instances = k_min_instances;
};

/// Pairs candidate and rival turns by (instance, placement, round) and pass: differences of log
/// turn medians. Per instance the median over passes, mean over placements (a drift that is linear
/// in time cancels under ABBA order; one disturbed turn does not matter); speedup = exp(their
/// mean).
///
/// Two bootstrap standard errors of that mean, each times sqrt(k / (k - 1)) because k units drawn
/// from themselves spread too little: e_i resamples instances whole, e_r placements and rounds
/// inside them. The interval is exp(mean ± half), where for n instances per side
///   n >= min_instances, or n >= 2 and no between-instance floor:
///                       half = max(t(n - 1) e_i, z s sqrt(2 / n));
///   fewer, with a between-instance floor b (e_i = 0 for n = 1):
///                       half = sqrt((z max(e_i, e_r))^2 + ln(1 + b)^2 / n);
///   n = 1 and no floor: unknown, always ambiguous.
/// t and z are the quantiles at (1 + confidence) / 2. With t the bootstrap of five clusters keeps
/// its coverage, which its own percentiles do not; s, NoiseFloor::instance_sd_frac, is there
/// because a few instances may agree by luck. e_r is not added to e_i: an instance's center already
/// carries the noise of its rounds.
///
/// faster: low > 1 + floor; slower: high < 1 - floor; same: the interval contains 1 and lies within
/// 1 ± max(floor, between-instance floor), never more than k_most_same_margin_frac; else ambiguous.
/// Rounds with a disturbed turn (is_disturbed) are left out. More than a quarter of them, a sample
/// that is not a positive finite time, or no pair makes it ambiguous with unknown figures.
/// Throws std::invalid_argument for a confidence outside (0, 1) or fewer than 2 resamples.
Comparison compare(std::span<const Turn> candidate, std::span<const Turn> rival,
                   const CompareOptions& options);

/// The outcome rule alone, also for aggregates. A margin above k_most_same_margin_frac is capped.
ComparisonOutcome classify(const Interval& interval, double noise_floor_frac,
                           double same_margin_frac);

/// The report's "resolution": the smallest gain, as a fraction, that this comparison would have
/// called faster: (1 + floor) sqrt(high / low) - 1. Unknown without a valid interval.
double resolution_frac(const Comparison& comparison);

/// Combines the comparisons of one problem in both regimes. `own` (in `regime`, the requested one)
/// holds unless `other` points the other way: one above 1, the other below, `same` excepted. Then
/// the result is ambiguous over both intervals. Without a valid figure of `other` it is ambiguous
/// with an unknown interval, so that no aggregate wins by it. Instances' figures are dropped, since
/// they are of one regime only. An `own` without a figure stays unchanged.
Comparison combine_regimes(const Comparison& own, Regime regime, const Comparison& other);

/// The options that apply this floor to a comparison.
CompareOptions compare_options(const NoiseFloor& floor, std::uint64_t seed);

/// Weighted geometric mean of speedups. If every comparison has the same k_min_instances or more
/// instances, the interval is exp(mean ± t(n - 1) sd / sqrt(n)) over the instances' own weighted
/// means, so that a bias shared by all problems of a process counts; its half-width is at least
/// sqrt(sum((share least_half_log)^2)), which equal code needs without a shared bias. Else the
/// intervals' ends (logs) are averaged with the weights, which holds for any dependence. A
/// comparison with low = high (a problem that stays with the incumbent: speedup 1) is exact. One
/// without a valid interval makes the interval unknown. Throws std::invalid_argument unless weights
/// > 0, of the same length, not empty.
Aggregate geometric_mean(std::span<const Comparison> comparisons, std::span<const double> weights);

/// Total weighted time of the rival over the candidate's: 1 / sum(share / speedup) with share =
/// weight rival_us / sum. Each end combines the same end of all problems (conservative).
Aggregate weighted_time_speedup(std::span<const Comparison> comparisons,
                                std::span<const double> rival_us, std::span<const double> weights);

}  // namespace wb::measure
