// SPDX-License-Identifier: MIT
#include "measure/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/hierarchy.hpp"
#include "measure/quantiles.hpp"

namespace wb::measure {
namespace {

constexpr double k_confidence = 0.99;
/// Confidence of the between-instance floor: 0.4 % of single pairs of the same code lie above it
/// and as many below. In simulation, a single process per side then wins 0.25 % of A/A comparisons.
constexpr double k_floor_confidence = 0.992;
constexpr int k_summary_resamples = 1'000;

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
