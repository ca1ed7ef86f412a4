// SPDX-License-Identifier: MIT
#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "measure/hierarchy.hpp"

namespace wb::measure {
namespace {

constexpr double k_confidence = 0.99;
/// Confidence of the between-instance floor: 0.4 % of single pairs of the same code lie above it
/// and as many below. In simulation, a single process per side then wins 0.25 % of A/A comparisons.
constexpr double k_floor_confidence = 0.992;
constexpr int k_summary_resamples = 1'000;

/// Regularized incomplete beta function I_x(a, b) by its continued fraction (modified Lentz), which
/// converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double k_tiny = 1e-300;
  const auto away_from_zero = [](double value) {
    return std::abs(value) < k_tiny ? k_tiny : value;
  };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double step = d * c;
    fraction *= step;
    if (std::abs(step - 1) < 1e-15) break;
  }
  return fraction;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// P(T > t) for t >= 0.
double upper_tail(double t, double degrees_of_freedom) {
  if (std::isinf(degrees_of_freedom)) return 0.5 * std::erfc(t / std::sqrt(2.0));
  return 0.5 * incomplete_beta(0.5 * degrees_of_freedom, 0.5,
                               degrees_of_freedom / (degrees_of_freedom + t * t));
}

Interval unknown_interval() {
  return {k_unknown, k_unknown, k_confidence};
}

Interval around(double center, double half) {
  return {std::exp(center - half), std::exp(center + half), k_confidence};
}

/// The interval of one process's median from its own variation: of its turns, or of the samples of
/// its only turn. Unknown with a single sample.
Interval interval_within(const std::vector<const Turn*>& turns, std::uint64_t seed) {
  hierarchy::CellLogs values;
  std::vector<double> scratch;
  std::int64_t index = 0;
  if (turns.size() > 1) {
    for (const Turn* turn : turns) {
      scratch = turn->samples_us;
      values[{0, 0, index++}] = {std::log(hierarchy::median_of(scratch))};
    }
  } else {
    for (const double sample_us : turns.front()->samples_us) {
      values[{0, 0, index++}] = {std::log(sample_us)};
    }
  }
  if (values.size() < 2) return unknown_interval();
  const auto units = hierarchy::clusters(values);
  const double error =
      hierarchy::bootstrap_error(units, hierarchy::Level::rounds, k_summary_resamples, seed) *
      hierarchy::small_count_factor(values.size());
  const double t =
      student_t_quantile(0.5 + k_confidence / 2, static_cast<double>(values.size() - 1));
  return around(hierarchy::center(units.front()), t * error);
}

Interval hull_of_instances(std::span<const Turn> turns, std::uint64_t seed) {
  std::map<std::int64_t, std::vector<const Turn*>> by_instance;
  for (const Turn& turn : turns) {
    if (!is_disturbed(turn.flags)) by_instance[turn.instance].push_back(&turn);
  }
  std::optional<Interval> hull;
  for (const auto& [instance, members] : by_instance) {
    const Interval own = interval_within(members, seed);
    if (!is_valid(own)) return unknown_interval();
    if (!hull) hull = own;
    hull->low = std::min(hull->low, own.low);
    hull->high = std::max(hull->high, own.high);
  }
  return hull.value_or(unknown_interval());
}

/// Removes the part common to all instances in a pass of a (placement, round), if the pass has most
/// instances; their differences are unchanged. Uses the median, so that one disturbed turn does not
/// move the others.
hierarchy::CellLogs without_shared_part(const hierarchy::CellLogs& logs, std::size_t instances) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::size_t>, std::vector<double>> passes;
  for (const auto& [cell, values] : logs) {
    for (std::size_t p = 0; p < values.size(); ++p) {
      passes[{cell.placement, cell.round, p}].push_back(values[p]);
    }
  }
  for (const auto& [key, values] : passes) {
    if (2 * values.size() <= instances) return logs;
  }
  hierarchy::CellLogs rest = logs;
  for (auto& [cell, values] : rest) {
    for (std::size_t p = 0; p < values.size(); ++p) {
      values[p] -= hierarchy::median_of(passes[{cell.placement, cell.round, p}]);
    }
  }
  return rest;
}

/// Pooled standard deviation of turns about their own mean inside each placement.
double spread_within(std::span<const hierarchy::Cluster> clusters) {
  double squares = 0, degrees = 0;
  for (const hierarchy::Cluster& cluster : clusters) {
    for (const auto& rounds : cluster.placements) {
      std::vector<double> values;
      for (const auto& round : rounds) values.insert(values.end(), round.begin(), round.end());
      const double deviation = hierarchy::standard_deviation(values);
      squares += deviation * deviation * static_cast<double>(values.size() - 1);
      degrees += static_cast<double>(values.size() - 1);
    }
  }
  return degrees > 0 ? std::sqrt(squares / degrees) : k_unknown;
}

/// Standard deviation of instances with one placement each: the variance over instances for every
/// placement, then the mean.
double spread_of_single_placements(std::span<const hierarchy::Cluster> clusters) {
  std::size_t placements = clusters.front().placements.size();
  for (const auto& cluster : clusters) placements = std::min(placements, cluster.placements.size());
  double variance = 0;
  for (std::size_t j = 0; j < placements; ++j) {
    std::vector<double> values;
    for (const hierarchy::Cluster& cluster : clusters) {
      values.push_back(hierarchy::center({cluster.instance, {cluster.placements[j]}}));
    }
    const double deviation = hierarchy::standard_deviation(values);
    variance += deviation * deviation / static_cast<double>(placements);
  }
  return std::sqrt(variance);
}

/// Sets the two floors from the two spreads and the degrees of freedom, which must be set.
void fill_floor(NoiseFloor& floor, double instances) {
  const double t = student_t_quantile(0.5 + k_floor_confidence / 2,
                                      static_cast<double>(floor.degrees_of_freedom));
  floor.floor_frac = std::expm1(floor.instance_sd_frac * std::sqrt(2 / instances));
  floor.between_instance_frac = std::expm1(t * floor.placement_sd_frac * std::sqrt(2.0));
}

}  // namespace

double quantile(std::vector<double> samples, double q) {
  if (samples.empty() || !(q >= 0 && q <= 1)) return k_unknown;
  if (std::any_of(samples.begin(), samples.end(), [](double x) { return std::isnan(x); })) {
    return k_unknown;
  }
  std::sort(samples.begin(), samples.end());
  const double position = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= samples.size()) return samples.back();
  const double share = position - static_cast<double>(below);
  if (share == 0) return samples[below];  // also avoids an infinite neighbor
  return samples[below] + share * (samples[below + 1] - samples[below]);
}

double median(std::vector<double> samples) {
  return quantile(std::move(samples), 0.5);
}

double student_t_quantile(double probability, double degrees_of_freedom) {
  if (!(probability > 0 && probability < 1) || !(degrees_of_freedom >= 1)) {
    throw std::invalid_argument("student_t_quantile: probability or degrees of freedom");
  }
  const double tail = std::min(probability, 1 - probability);
  double low = 0, high = 1;
  while (upper_tail(high, degrees_of_freedom) > tail) {
    low = high;
    high *= 2;
  }
  for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
    const double middle = 0.5 * (low + high);
    (upper_tail(middle, degrees_of_freedom) > tail ? low : high) = middle;
  }
  const double t = 0.5 * (low + high);
  return probability == 0.5 ? 0.0 : probability > 0.5 ? t : -t;
}

bool is_valid(const Interval& interval) {
  return interval.low > 0 && interval.high >= interval.low && std::isfinite(interval.high);
}

bool is_uninformative(const Interval& interval) {
  constexpr double k_widest = 1e4;  // a factor of 100 on either side
  return is_valid(interval) && interval.high > k_widest * interval.low;
}

Measurement summarize(std::span<const Turn> turns_of_one_subject, std::uint64_t seed) {
  Measurement result{k_unknown, k_unknown, k_unknown, unknown_interval(), 0, 0, 0};
  result.turns = static_cast<std::int64_t>(turns_of_one_subject.size());
  std::vector<double> samples;
  for (const Turn& turn : turns_of_one_subject) {
    if (is_disturbed(turn.flags)) continue;
    samples.insert(samples.end(), turn.samples_us.begin(), turn.samples_us.end());
  }
  result.samples = static_cast<std::int64_t>(samples.size());
  if (hierarchy::unusable(turns_of_one_subject)) return result;
  const auto clusters = hierarchy::clusters(hierarchy::cell_logs(turns_of_one_subject));
  const double center = hierarchy::mean(hierarchy::centers(clusters));
  result.instances = static_cast<std::int64_t>(clusters.size());
  result.median_us = std::exp(center);
  result.min_us = *std::min_element(samples.begin(), samples.end());
  result.p90_us = quantile(std::move(samples), 0.9);
  if (result.instances >= k_min_instances) {
    const double error = hierarchy::bootstrap_error(clusters, hierarchy::Level::instances,
                                                    k_summary_resamples, seed) *
                         hierarchy::small_count_factor(clusters.size());
    const double t =
        student_t_quantile(0.5 + k_confidence / 2, static_cast<double>(result.instances - 1));
    result.interval_us = around(center, t * error);
  } else {
    result.interval_us = hull_of_instances(turns_of_one_subject, seed);
  }
  return result;
}

NoiseFloor noise_floor(std::span<const Turn> turns_of_same_code) {
  NoiseFloor floor;
  floor.turns = static_cast<std::int64_t>(turns_of_same_code.size());
  if (const auto fault = hierarchy::unusable(turns_of_same_code)) {
    floor.reason = *fault;
    return floor;
  }
  const auto logs = hierarchy::cell_logs(turns_of_same_code);
  const std::size_t instances = hierarchy::clusters(logs).size();
  const auto clusters = hierarchy::clusters(without_shared_part(logs, instances));
  floor.instances = static_cast<std::int64_t>(instances);
  floor.within_frac = spread_within(clusters);
  if (instances < 2) {
    floor.reason = "one process shows no spread between processes";
    return floor;
  }
  floor.degrees_of_freedom = floor.instances - 1;
  floor.instance_sd_frac = hierarchy::standard_deviation(hierarchy::centers(clusters));
  floor.placement_sd_frac = spread_of_single_placements(clusters);
  fill_floor(floor, static_cast<double>(instances));
  return floor;
}

NoiseFloor pool(std::span<const NoiseFloor> floors_of_one_class) {
  NoiseFloor pooled;
  double squares = 0, placement_squares = 0, within_squares = 0;
  double instances = 0, count = 0, with_within = 0;
  for (const NoiseFloor& floor : floors_of_one_class) {
    const double both = floor.instance_sd_frac + floor.placement_sd_frac;
    if (!std::isfinite(both) || floor.degrees_of_freedom < 1) continue;
    const auto degrees = static_cast<double>(floor.degrees_of_freedom);
    squares += floor.instance_sd_frac * floor.instance_sd_frac * degrees;
    placement_squares += floor.placement_sd_frac * floor.placement_sd_frac * degrees;
    if (std::isfinite(floor.within_frac)) {
      within_squares += floor.within_frac * floor.within_frac;
      ++with_within;
    }
    pooled.degrees_of_freedom += floor.degrees_of_freedom;
    pooled.instances += floor.instances;
    pooled.turns += floor.turns;
    instances += static_cast<double>(floor.instances);
    ++count;
  }
  if (pooled.degrees_of_freedom < 1) {
    pooled.reason = "no problem of the class has a measured floor";
    return pooled;
  }
  const auto degrees = static_cast<double>(pooled.degrees_of_freedom);
  pooled.instance_sd_frac = std::sqrt(squares / degrees);
  pooled.placement_sd_frac = std::sqrt(placement_squares / degrees);
  if (with_within > 0) pooled.within_frac = std::sqrt(within_squares / with_within);
  fill_floor(pooled, instances / count);
  return pooled;
}

}  // namespace wb::measure
