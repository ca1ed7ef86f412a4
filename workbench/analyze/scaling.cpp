// SPDX-License-Identifier: MIT
// How time grows with work over problems that differ in one size only: the exponent b of time = c
// work^b, by least squares on logs, beside that of the reference. It uses work, not the size:
// attention's work is quadratic in S, and half of that under a causal rule. Problems that differ in
// two sizes are never mixed.
#include "analyze/scaling.hpp"
#include "measure/quantiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "analyze/evidence.hpp"

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

using measure::Finding;

std::vector<Finding> analyze_scaling(const measure::Evidence& evidence);

namespace {

constexpr std::size_t k_min_sizes = 3;
constexpr double k_min_work_range = 2;      // below it, an exponent says nothing
constexpr double k_linear_tolerance = 0.1;  // a smaller range gives no meaningful exponent

std::string_view class_of(double exponent) {
  if (exponent < 1 - k_linear_tolerance) return "sub-linear";
  return exponent > 1 + k_linear_tolerance ? "super-linear" : "linear";
}

std::set<std::int64_t> sizes_of(const ScalingFamily& family) {
  std::set<std::int64_t> sizes;
  for (const ScalingPoint& point : family.points) sizes.insert(point.size);
  return sizes;
}

/// The exponent over the last increase of work.
double last_step(const ScalingFamily& family) {
  const ScalingPoint& last = family.points.back();
  const auto before =
      std::find_if(family.points.rbegin(), family.points.rend(),
                   [&](const ScalingPoint& point) { return point.work_flops < last.work_flops; });
  return std::log(last.time_us / before->time_us) / std::log(last.work_flops / before->work_flops);
}

/// The fastest at the largest size among subjects measured on exactly the same problems.
const ScalingFamily* reference_of(const ScalingFamily& family,
                                  const std::vector<ScalingFamily>& references) {
  const ScalingFamily* best = nullptr;
  for (const ScalingFamily& other : references) {
    if (other.axis != family.axis || other.rest != family.rest || other.plan != family.plan ||
        other.subject == family.subject || sizes_of(other) != sizes_of(family)) {
      continue;
    }
    if (best == nullptr || other.points.back().time_us < best->points.back().time_us) best = &other;
  }
  return best;
}

void add_reference(Finding& finding, const ScalingFamily& family, const ScalingFamily& other) {
  const PowerFit fit = fit_power(other.points);
  const double first = family.points.front().time_us / other.points.front().time_us;
  const double last = family.points.back().time_us / other.points.back().time_us;
  finding.statement += fmt::format(
      "; {} grows as work^{:.2f}, so this takes {:.3g} times its time at the small end and {:.3g} "
      "times at the large one",
      other.subject, fit.exponent, first, last);
  finding.figures["beside"] = other.subject;
  finding.figures["beside_exponent"] = fit.exponent;
  finding.figures["beside_interval"] = {fit.low, fit.high};
  finding.figures["time_over_beside_first"] = first;
  finding.figures["time_over_beside_last"] = last;
}

Finding finding_of(const ScalingFamily& family, const ScalingFamily* reference) {
  const std::set<std::int64_t> sizes = sizes_of(family);
  const PowerFit line = fit_power(family.points);
  const double range = work_range(family);
  const double time_ratio = family.points.back().time_us / family.points.front().time_us;
  const bool is_certain = class_of(line.low) == class_of(line.high);
  Finding finding;
  finding.analysis = "scaling";
  finding.statement = fmt::format(
      "{} ({}): time grows as work^{:.2f} (95 % interval {:.2f} to {:.2f}) over {} = {} to {} "
      "({:.3g} times the work in {:.3g} times the time): {}{}",
      family.subject, to_string(family.plan), line.exponent, line.low, line.high, family.axis,
      *sizes.begin(), *sizes.rbegin(), range, time_ratio, class_of(line.exponent),
      is_certain ? "" : ", though the interval leaves that open");
  finding.figures = {{"subject", family.subject},
                     {"plan", to_string(family.plan)},
                     {"axis", family.axis},
                     {"exponent", line.exponent},
                     {"exponent_standard_error", line.standard_error},
                     {"exponent_interval", {line.low, line.high}},
                     {"last_step_exponent", last_step(family)},
                     {"class", class_of(line.exponent)},
                     {"class_is_certain", is_certain},
                     {"sizes", sizes},
                     {"work_ratio", range},
                     {"time_ratio", time_ratio},
                     {"time_per_work_ratio", time_ratio / range}};
  finding.events = events_of(family);
  if (reference != nullptr) add_reference(finding, family, *reference);
  finding.unseen =
      "a fixed cost per call pulls the exponent down at the small end; "
      "last_step_exponent leaves it out";
  return finding;
}

}  // namespace

std::vector<Finding> analyze_scaling(const measure::Evidence& evidence) {
  const std::vector<ScalingFamily> references = scaling_families(evidence.beside);
  std::vector<Finding> findings;
  for (const ScalingFamily& family : scaling_families(evidence.observations)) {
    if (sizes_of(family).size() < k_min_sizes) continue;
    if (!(work_range(family) >= k_min_work_range)) continue;
    const bool is_one_of_them = is_reference(evidence, family.subject);
    findings.push_back(
        finding_of(family, is_one_of_them ? nullptr : reference_of(family, references)));
  }
  return findings;
}

}  // namespace wb::analyze
