// SPDX-License-Identifier: MIT
#include "measure/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "measure/hierarchy.hpp"
#include "measure/quantiles.hpp"

namespace wb::measure {
namespace {

double half_log(const Interval& interval) {
  return 0.5 * std::log(interval.high / interval.low);
}

bool is_exact(const Comparison& comparison) {
  return comparison.interval.low == comparison.interval.high;
}

bool has_floor(const CompareOptions& options) {
  return options.between_instance_floor_frac && *options.between_instance_floor_frac >= 0;
}

struct Pairs {
  hierarchy::CellLogs logs;  ///< ln(rival / candidate), by pass
  /// Rounds that both measured, and those left out as disturbed.
  std::size_t all = 0, disturbed = 0;
};

/// Pairs passes of the same ABBA round: first with first, second with second. A round disturbed on
/// either side is left out entirely.
Pairs pair_up(std::span<const Turn> candidate, std::span<const Turn> rival) {
  const auto candidate_logs = hierarchy::cell_logs(candidate);
  const auto rival_logs = hierarchy::cell_logs(rival);
  auto disturbed = hierarchy::disturbed_cells(candidate);
  disturbed.merge(hierarchy::disturbed_cells(rival));
  Pairs pairs;
  pairs.all = pairs.disturbed = disturbed.size();
  for (const auto& [cell, passes] : rival_logs) {
    const auto found = candidate_logs.find(cell);
    if (found == candidate_logs.end() || disturbed.contains(cell)) continue;
    ++pairs.all;
    const std::size_t count = std::min(passes.size(), found->second.size());
    for (std::size_t p = 0; p < count; ++p) {
      pairs.logs[cell].push_back(passes[p] - found->second[p]);
    }
  }
  return pairs;
}

/// Bootstrap standard error of ln(speedup) from the spread of instances.
double error_between(std::span<const hierarchy::Cluster> clusters, const CompareOptions& options) {
  return hierarchy::small_count_factor(clusters.size()) *
         hierarchy::bootstrap_error(clusters, hierarchy::Level::instances, options.resamples,
                                    options.seed);
}

/// Bootstrap standard error from the spread of rounds inside the instances.
double error_within(std::span<const hierarchy::Cluster> clusters, const CompareOptions& options) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const auto& cluster : clusters) fewest = std::min(fewest, cluster.rounds());
  return hierarchy::small_count_factor(static_cast<std::size_t>(fewest)) *
         hierarchy::bootstrap_error(clusters, hierarchy::Level::rounds, options.resamples,
                                    options.seed);
}

/// Half-width of ln(speedup) by the three cases in the header; k_unknown for a single process.
double half_width(std::span<const hierarchy::Cluster> clusters, const CompareOptions& options) {
  const auto instances = static_cast<double>(clusters.size());
  const bool enough = static_cast<std::int64_t>(clusters.size()) >= options.min_instances;
  const double probability = 0.5 + options.confidence / 2;
  if (clusters.size() > 1 && (enough || !has_floor(options))) {
    return student_t_quantile(probability, instances - 1) * error_between(clusters, options);
  }
  if (!has_floor(options)) return k_unknown;
  double error = error_within(clusters, options);
  if (clusters.size() > 1) error = std::max(error, error_between(clusters, options));
  const double repeat =
      student_t_quantile(probability, std::numeric_limits<double>::infinity()) * error;
  const double between = std::log1p(*options.between_instance_floor_frac);
  return std::sqrt(repeat * repeat + between * between / instances);
}

/// Least half-width of ln(speedup) for enough processes: a few may agree by luck, and the spread of
/// equal code is a second estimate of the same error.
double least_half_width(std::int64_t instances, const CompareOptions& options) {
  if (instances < options.min_instances) return 0;
  return student_t_quantile(0.5 + options.confidence / 2, std::numeric_limits<double>::infinity()) *
         options.instance_sd_frac * std::sqrt(2 / static_cast<double>(instances));
}

double same_margin(const CompareOptions& options) {
  double margin = options.noise_floor_frac;
  if (has_floor(options)) margin = std::max(margin, *options.between_instance_floor_frac);
  return std::min(margin, k_most_same_margin_frac);
}

/// A share of ten or more is not useful as a figure.
std::string percent(double frac) {
  return frac < 10 ? fmt::format("{:.2f} %", 100 * frac) : std::string("more than 1000 %");
}

std::string explain(const Comparison& result, const CompareOptions& options) {
  if (is_uninformative(result.interval)) {
    return fmt::format(
        "the {:.0f} % interval says nothing: {} process{} and {} round{} per side differ so much "
        "that it reaches a factor of more than 100 either way",
        100 * result.interval.confidence, result.instances, result.instances == 1 ? "" : "es",
        result.rounds, result.rounds == 1 ? "" : "s");
  }
  const std::string interval =
      fmt::format("{:.0f} % interval {:.3f} to {:.3f}", 100 * result.interval.confidence,
                  result.interval.low, result.interval.high);
  const std::string floor = percent(result.noise_floor_frac);
  std::string words;
  switch (result.outcome) {
    case ComparisonOutcome::faster:
      words = fmt::format("{} lies above 1 + noise floor ({})", interval, floor);
      break;
    case ComparisonOutcome::slower:
      words = fmt::format("{} lies below 1 - noise floor ({})", interval, floor);
      break;
    case ComparisonOutcome::same:
      words = fmt::format("{} holds 1 and stays within {:.2f} % of it", interval,
                          100 * same_margin(options));
      break;
    case ComparisonOutcome::ambiguous:
      words = fmt::format("{} neither clears 1 ± noise floor ({}) nor stays within {:.2f} % of 1",
                          interval, floor, 100 * same_margin(options));
      break;
  }
  if (result.instances < options.min_instances && has_floor(options)) {
    words += fmt::format(
        "; {} process{} per side, so what two processes of the same code differ "
        "by ({}) is in the interval",
        result.instances, result.instances == 1 ? "" : "es",
        percent(*options.between_instance_floor_frac));
  }
  return words;
}

void check(std::size_t comparisons, std::size_t others, std::span<const double> weights) {
  const bool positive = std::all_of(weights.begin(), weights.end(),
                                    [](double w) { return w > 0 && std::isfinite(w); });
  if (comparisons == 0 || comparisons != others || comparisons != weights.size() || !positive) {
    throw std::invalid_argument("an aggregate needs one positive weight per comparison");
  }
}

/// The number of instances shared by all comparisons, exact ones aside; 0 when they differ, are
/// fewer than k_min_instances, or lack their instances' figures.
std::size_t common_instances(std::span<const Comparison> comparisons) {
  std::size_t common = 0;
  for (const Comparison& comparison : comparisons) {
    if (is_exact(comparison)) continue;
    const std::size_t count = comparison.instance_log_speedups.size();
    if (count < static_cast<std::size_t>(k_min_instances)) return 0;
    if (common != 0 && common != count) return 0;
    common = count;
  }
  return common;
}

double half_of_shared_instances(std::span<const Comparison> comparisons,
                                std::span<const double> shares, std::size_t instances,
                                double confidence) {
  std::vector<double> means(instances, 0.0);
  double least_squares = 0;
  for (std::size_t p = 0; p < comparisons.size(); ++p) {
    if (is_exact(comparisons[p])) continue;
    least_squares += std::pow(shares[p] * comparisons[p].least_half_log, 2);
    for (std::size_t i = 0; i < instances; ++i) {
      means[i] += shares[p] * comparisons[p].instance_log_speedups[i];
    }
  }
  const double own = student_t_quantile(0.5 + confidence / 2, static_cast<double>(instances - 1)) *
                     hierarchy::standard_deviation(means) /
                     std::sqrt(static_cast<double>(instances));
  return std::max(own, std::sqrt(least_squares));
}

}  // namespace

ComparisonOutcome classify(const Interval& interval, double noise_floor_frac,
                           double same_margin_frac) {
  if (!is_valid(interval) || is_uninformative(interval)) return ComparisonOutcome::ambiguous;
  if (interval.low > 1 + noise_floor_frac) return ComparisonOutcome::faster;
  if (interval.high < 1 - noise_floor_frac) return ComparisonOutcome::slower;
  const double margin = std::min(same_margin_frac, k_most_same_margin_frac);
  if (interval.low <= 1 && interval.high >= 1 && interval.low >= 1 - margin &&
      interval.high <= 1 + margin) {
    return ComparisonOutcome::same;
  }
  return ComparisonOutcome::ambiguous;
}

Comparison compare(std::span<const Turn> candidate, std::span<const Turn> rival,
                   const CompareOptions& options) {
  if (!(options.confidence > 0 && options.confidence < 1) || options.resamples < 2) {
    throw std::invalid_argument("compare: confidence outside (0, 1) or fewer than 2 resamples");
  }
  Comparison result;
  result.candidate = candidate.empty() ? "" : candidate.front().subject;
  result.rival = rival.empty() ? "" : rival.front().subject;
  result.speedup = k_unknown;
  result.interval = {k_unknown, k_unknown, options.confidence};
  result.noise_floor_frac = options.noise_floor_frac;
  for (const auto& side : {candidate, rival}) {
    if (const auto fault = hierarchy::unusable(side)) {
      result.reason = *fault;
      return result;
    }
  }
  const Pairs pairs = pair_up(candidate, rival);
  if (hierarchy::too_much_disturbed(pairs.disturbed, pairs.all)) {
    result.reason =
        fmt::format("{} in {} of {} rounds (environment)",
                    hierarchy::disturbance_words({candidate, rival}), pairs.disturbed, pairs.all);
    return result;
  }
  const auto clusters = hierarchy::clusters(pairs.logs);
  if (clusters.empty()) {
    result.reason = "no turns of both in the same instance, placement and round";
    return result;
  }
  for (const auto& cluster : clusters) result.rounds += cluster.rounds();
  result.instances = static_cast<std::int64_t>(clusters.size());
  result.instance_log_speedups = hierarchy::centers(clusters);
  const double center = hierarchy::mean(result.instance_log_speedups);
  result.least_half_log = least_half_width(result.instances, options);
  const double own = half_width(clusters, options);
  const double half = std::max(own, result.least_half_log);
  result.speedup = std::exp(center);
  result.interval.low = std::exp(center - half);
  result.interval.high = std::exp(center + half);
  if (!is_valid(result.interval)) {
    result.interval = {k_unknown, k_unknown, options.confidence};
    result.reason =
        "one process per side and no measured noise floor: how far two processes of "
        "the same code differ is not known";
    return result;
  }
  result.outcome = classify(result.interval, options.noise_floor_frac, same_margin(options));
  result.reason = explain(result, options);
  if (own < result.least_half_log) {
    result.reason +=
        "; so wide because processes of equal code differ by " + percent(options.instance_sd_frac);
  }
  if (pairs.disturbed > 0) {
    result.reason += fmt::format("; {} of {} rounds left out for {}", pairs.disturbed, pairs.all,
                                 hierarchy::disturbance_words({candidate, rival}));
  }
  return result;
}

double resolution_frac(const Comparison& comparison) {
  if (!is_valid(comparison.interval) || is_uninformative(comparison.interval)) return k_unknown;
  return (1 + comparison.noise_floor_frac) * std::exp(half_log(comparison.interval)) - 1;
}

Comparison combine_regimes(const Comparison& own, Regime regime, const Comparison& other) {
  Comparison result = own;
  if (!(own.speedup > 0)) return result;
  const std::string_view own_word = to_string(regime), other_word = to_string(opposite(regime));
  const bool opposed =
      (own.speedup > 1 && other.speedup < 1) || (own.speedup < 1 && other.speedup > 1);
  const bool has_same =
      own.outcome == ComparisonOutcome::same || other.outcome == ComparisonOutcome::same;
  if (!(other.speedup > 0)) {
    result.outcome = ComparisonOutcome::ambiguous;
    result.reason = fmt::format("no valid figure in the {} regime: {}", other_word, other.reason);
    result.interval.low = result.interval.high = k_unknown;
    result.instance_log_speedups.clear();
  } else if (opposed && !has_same) {
    result.outcome = ComparisonOutcome::ambiguous;
    result.reason = fmt::format("{} ({:.3f}x) and {} ({:.3f}x) point opposite ways", own_word,
                                own.speedup, other_word, other.speedup);
    // An interval over both needs a valid one on each side.
    const bool both = is_valid(own.interval) && is_valid(other.interval);
    result.interval.low = both ? std::min(own.interval.low, other.interval.low) : k_unknown;
    result.interval.high = both ? std::max(own.interval.high, other.interval.high) : k_unknown;
    result.instance_log_speedups.clear();
  } else {
    result.reason +=
        fmt::format("; {}: {} ({:.3f}x)", other_word, to_string(other.outcome), other.speedup);
  }
  return result;
}

CompareOptions compare_options(const NoiseFloor& floor, std::uint64_t seed) {
  CompareOptions options;
  options.seed = seed;
  options.noise_floor_frac = floor.floor_frac;
  if (std::isfinite(floor.instance_sd_frac)) options.instance_sd_frac = floor.instance_sd_frac;
  if (std::isfinite(floor.between_instance_frac)) {
    options.between_instance_floor_frac = floor.between_instance_frac;
  }
  return options;
}

Aggregate geometric_mean(std::span<const Comparison> comparisons, std::span<const double> weights) {
  check(comparisons.size(), comparisons.size(), weights);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double confidence = comparisons.front().interval.confidence;
  std::vector<double> shares;
  double center = 0, low = 0, high = 0;
  for (std::size_t p = 0; p < comparisons.size(); ++p) {
    shares.push_back(weights[p] / total);
    center += shares[p] * std::log(comparisons[p].speedup);
    const Interval& interval = comparisons[p].interval;
    low += shares[p] * (is_valid(interval) ? std::log(interval.low) : k_unknown);
    high += shares[p] * (is_valid(interval) ? std::log(interval.high) : k_unknown);
  }
  const std::size_t instances = common_instances(comparisons);
  if (instances > 0 && std::isfinite(low) && std::isfinite(high)) {
    const double half = half_of_shared_instances(comparisons, shares, instances, confidence);
    low = center - half;
    high = center + half;
  }
  return {std::exp(center), {std::exp(low), std::exp(high), confidence}};
}

Aggregate weighted_time_speedup(std::span<const Comparison> comparisons,
                                std::span<const double> rival_us, std::span<const double> weights) {
  check(comparisons.size(), rival_us.size(), weights);
  double total_us = 0, at_value_us = 0, at_low_us = 0, at_high_us = 0;
  for (std::size_t p = 0; p < comparisons.size(); ++p) {
    const Interval& interval = comparisons[p].interval;
    const double time_us = weights[p] * rival_us[p];
    total_us += time_us;
    at_value_us += time_us / comparisons[p].speedup;
    at_low_us += time_us / (is_valid(interval) ? interval.low : k_unknown);
    at_high_us += time_us / (is_valid(interval) ? interval.high : k_unknown);
  }
  return {total_us / at_value_us,
          {total_us / at_low_us, total_us / at_high_us, comparisons.front().interval.confidence}};
}

}  // namespace wb::measure
