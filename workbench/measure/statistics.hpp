// SPDX-License-Identifier: MIT
// Statistics of timed samples: quantiles, the hierarchical bootstrap over instances and rounds, the
// A/A noise floor and the three-way comparison. Pure, and deterministic for a given seed.
// docs/contracts/measurement.md has the formulas and their reasons.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "measure/plan.hpp"

namespace wb::measure {

/// The value of a figure that could not be determined. JSON writes null.
inline constexpr double k_unknown = std::numeric_limits<double>::quiet_NaN();

/// Linear-interpolation quantile, q in [0, 1]; NaN for no samples. Any NaN sample gives NaN.
double quantile(std::vector<double> samples, double q);
double median(std::vector<double> samples);

/// Quantile of Student's t: P(T <= result) = probability, for degrees_of_freedom >= 1 (infinite:
/// the normal distribution) and probability in (0, 1).
double student_t_quantile(double probability, double degrees_of_freedom);

struct Interval {
  double low = 0, high = 0, confidence = 0.99;
};
/// Finite, 0 < low <= high: an interval that may be reasoned with.
[[nodiscard]] bool is_valid(const Interval& interval);
/// True for a valid interval that extends by more than a factor of a hundred to either side: two
/// processes that differ so much do not predict a third. Its JSON has no bounds.
[[nodiscard]] bool is_uninformative(const Interval& interval);
/// True for an interval that is shown: valid and informative.
[[nodiscard]] inline bool is_shown(const Interval& interval) {
  return is_valid(interval) && !is_uninformative(interval);
}
Json to_json(const Interval& interval);
Result<Interval> interval_from_json(const Json& json);

/// The fewest fresh processes whose own spread estimates how far processes differ. With fewer, a
/// measured A/A floor is needed.
inline constexpr std::int64_t k_min_instances = 5;

/// The estimate for one subject, problem and plan that reports print.
struct Measurement {
  double median_us = 0, p90_us = 0, min_us = 0;
  /// Interval of the median. From k_min_instances processes on: what a further process would give
  /// on average. With fewer: the hull of the processes' own intervals, which holds for these
  /// processes only.
  Interval interval_us;
  std::int64_t instances = 0, turns = 0, samples = 0;
};
/// median_us: median of each turn, then of the turns of an instance, then geometric mean over
/// instances. p90 and min are of the pooled samples. Without turns, or with a sample that is not a
/// positive finite time, every figure is k_unknown.
Measurement summarize(std::span<const Turn> turns_of_one_subject, std::uint64_t seed);
Json to_json(const Measurement& measurement);
Result<Measurement> measurement_from_json(const Json& json);

enum class ComparisonOutcome { faster, slower, same, ambiguous };
std::string_view to_string(ComparisonOutcome value);
std::optional<ComparisonOutcome> parse_comparison_outcome(std::string_view word);

/// Candidate against a rival (or incumbent) on one problem. speedup = rival time / candidate time.
struct Comparison {
  std::string candidate, rival;
  double speedup = 0;
  Interval interval;            ///< of the speedup; k_unknown ends when nothing is known
  double noise_floor_frac = 0;  ///< the floor that the interval's end had to clear
  ComparisonOutcome outcome = ComparisonOutcome::ambiguous;
  std::string reason;                      ///< why, in one clause
  std::int64_t instances = 0, rounds = 0;  ///< paired instances, and rounds over all of them
  /// ln(speedup) of each paired instance, by instance index. geometric_mean needs them because one
  /// process's bias may affect every problem.
  std::vector<double> instance_log_speedups;
  /// The least half-width of the interval of ln(speedup): z s sqrt(2 / n). 0: unknown.
  double least_half_log = 0;
};
Json to_json(const Comparison& comparison);
Result<Comparison> comparison_from_json(const Json& json);

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

/// The largest margin of `same`, however far apart processes of equal code were.
inline constexpr double k_most_same_margin_frac = 0.10;

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

/// The A/A noise floor: turns of the same code in several fresh processes (and placements), best
/// interleaved as if they were different subjects (same rounds, ABBA), so that effects common to a
/// round cancel. s is the standard deviation of the n instances' log times, s1 the same with one
/// placement each (the mean variance over placements).
struct NoiseFloor {
  /// s sqrt(2 / n): by how much two sets of n processes of the same code differ. The end of every
  /// comparison's interval must clear it.
  double floor_frac = k_unknown;
  /// t(n - 1, 0.996) s1 sqrt(2): how far apart two single processes of the same code are, at 99.2
  /// %.
  double between_instance_frac = k_unknown;
  double instance_sd_frac = k_unknown;   ///< s
  double placement_sd_frac = k_unknown;  ///< s1
  double within_frac = k_unknown;        ///< standard deviation of turns inside one placement
  std::int64_t instances = 0, turns = 0, degrees_of_freedom = 0;
  std::string reason;  ///< why figures are unknown; else empty
};
/// Figures stay k_unknown with fewer than 2 instances, with more than a quarter of the turns
/// disturbed (up to that, disturbed turns are left out) or with an unusable sample.
NoiseFloor noise_floor(std::span<const Turn> turns_of_same_code);
/// One floor for a problem class from the floors of several problems: pooled s, summed degrees of
/// freedom (a smaller t). Floors without figures are skipped.
NoiseFloor pool(std::span<const NoiseFloor> floors_of_one_class);
Json to_json(const NoiseFloor& floor);
Result<NoiseFloor> noise_floor_from_json(const Json& json);

/// The options that apply this floor to a comparison.
CompareOptions compare_options(const NoiseFloor& floor, std::uint64_t seed);

struct Aggregate {
  double value = 0;
  Interval interval;
};
Json to_json(const Aggregate& aggregate);

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
