// SPDX-License-Identifier: MIT
#include "analyze/scaling_families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "analyze/evidence_view.hpp"

namespace wb::analyze {

using problem::Problem;

namespace {

constexpr double k_fit_confidence = 0.95;

struct Split {
  Problem rest;  ///< the problem without the varied size, common to all members
  std::int64_t size = 0;
};

/// One size in which problems may differ; nothing for problems of another kind.
struct Axis {
  std::string_view name;
  std::optional<Split> (*split)(Problem problem);
};

std::optional<Split> by_batch_heads(Problem problem) {
  const std::int64_t size = problem.B * problem.Hq;
  problem.B = 1;
  problem.Hq /= problem.Hkv;  // the group size of GQA stays
  problem.Hkv = 1;
  return Split{problem, size};
}

std::optional<Split> by_sequence(Problem problem) {
  if (problem.Sq != problem.Skv) return std::nullopt;
  const std::int64_t size = problem.Sq;
  problem.Sq = problem.Skv = 1;
  return Split{problem, size};
}

std::optional<Split> by_keys(Problem problem) {
  if (problem.Sq == problem.Skv) return std::nullopt;
  const std::int64_t size = problem.Skv;
  problem.Skv = 1;
  return Split{problem, size};
}

std::optional<Split> by_head_dim(Problem problem) {
  if (problem.D != problem.Dv) return std::nullopt;
  const std::int64_t size = problem.D;
  problem.D = problem.Dv = 1;
  return Split{problem, size};
}

constexpr std::array<Axis, 4> k_axes{{
    {"B*Hq", by_batch_heads},
    {"S", by_sequence},
    {"Skv", by_keys},
    {"D", by_head_dim},
}};

}  // namespace

std::vector<ScalingFamily> scaling_families(std::span<const measure::Observation> observations) {
  std::vector<ScalingFamily> families;
  for (const Axis& axis : k_axes) {
    std::map<std::string, std::size_t> place;
    for (const measure::Observation& observation : observations) {
      if (!has_time(observation)) continue;
      const auto split = axis.split(observation.problem);
      const problem::Work demanded = problem::work(observation.problem);
      if (!split || !(demanded.flops > 0)) continue;
      const std::string rest = problem::to_text(split->rest);
      const std::string key =
          fmt::format("{}|{}|{}", observation.subject, to_string(observation.plan), rest);
      const auto [slot, is_new] = place.try_emplace(key, families.size());
      if (is_new) families.push_back({axis.name, rest, observation.subject, observation.plan, {}});
      families[slot->second].points.push_back(
          {split->size, demanded.flops, observation.measurement.median_us, &observation});
    }
  }
  for (ScalingFamily& family : families) {
    std::stable_sort(
        family.points.begin(), family.points.end(),
        [](const ScalingPoint& a, const ScalingPoint& b) { return a.work_flops < b.work_flops; });
  }
  return families;
}

PowerFit fit_power(std::span<const ScalingPoint> points) {
  const auto n = static_cast<double>(points.size());
  double mean_work = 0, mean_time = 0;
  for (const ScalingPoint& point : points) {
    mean_work += std::log(point.work_flops) / n;
    mean_time += std::log(point.time_us) / n;
  }
  double xx = 0, xy = 0;
  for (const ScalingPoint& point : points) {
    const double x = std::log(point.work_flops) - mean_work;
    xx += x * x;
    xy += x * (std::log(point.time_us) - mean_time);
  }
  PowerFit fit;
  fit.exponent = xy / xx;
  double residual = 0;
  for (const ScalingPoint& point : points) {
    const double miss = std::log(point.time_us) - mean_time -
                        fit.exponent * (std::log(point.work_flops) - mean_work);
    residual += miss * miss;
  }
  fit.standard_error = std::sqrt(residual / (n - 2) / xx);
  const double half =
      measure::student_t_quantile((1 + k_fit_confidence) / 2, n - 2) * fit.standard_error;
  fit.low = fit.exponent - half;
  fit.high = fit.exponent + half;
  return fit;
}

double work_range(const ScalingFamily& family) {
  return family.points.back().work_flops / family.points.front().work_flops;
}

std::vector<std::int64_t> events_of(const ScalingFamily& family) {
  std::vector<std::int64_t> events;
  for (const ScalingPoint& point : family.points) {
    events.insert(events.end(), point.observation->events.begin(), point.observation->events.end());
  }
  return events;
}

}  // namespace wb::analyze
