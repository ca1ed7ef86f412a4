// SPDX-License-Identifier: MIT
// The figures that timed samples give, as values with their JSON: intervals, measurements,
// comparisons, noise floors, aggregates. Headers and readers include these types alone;
// statistics.hpp has the functions that compute them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::measure {

/// The value of a figure that could not be determined. JSON writes null.
inline constexpr double k_unknown = std::numeric_limits<double>::quiet_NaN();

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
Json to_json(const Measurement& measurement);
Result<Measurement> measurement_from_json(const Json& json);

enum class ComparisonOutcome { faster, slower, same, ambiguous };
std::string_view to_string(ComparisonOutcome value);
std::optional<ComparisonOutcome> parse_comparison_outcome(std::string_view word);

/// The largest margin of `same`, however far apart processes of equal code were.
inline constexpr double k_most_same_margin_frac = 0.10;

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
Json to_json(const NoiseFloor& floor);
Result<NoiseFloor> noise_floor_from_json(const Json& json);

struct Aggregate {
  double value = 0;
  Interval interval;
};
Json to_json(const Aggregate& aggregate);

// Whether a noise floor is usable, and which gains it hides. Pure functions; the engine asks when a
// session opens and before it compares.

/// Limits of a usable floor: a larger floor would hide every gain that a session looks for, and
/// single processes further apart than k_most_between_frac mean a machine that does other work.
inline constexpr double k_most_floor_frac = 0.10, k_most_between_frac = 0.50;

/// Why a floor is unusable, in one clause, or nothing. `disturbed`: some cells of its turns had no
/// clean turn.
std::optional<std::string> unfit_reason(const NoiseFloor& floor, bool disturbed);

/// The true gain that a comparison with this many processes a side detects about every second time:
/// (1 + floor) exp(t(n - 1) s sqrt(2 / n)) - 1. Unknown without a floor or with fewer than 2
/// processes.
double smallest_gain_frac(const NoiseFloor& floor, std::int64_t instances);

}  // namespace wb::measure
