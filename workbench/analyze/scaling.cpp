// SPDX-License-Identifier: MIT
// How time grows with work where the observed problems differ in one size only: the exponent b of
// time = c work^b, by least squares on logs. Work, not the size: attention's work is quadratic in
// S, and half of it under a causal rule. Problems that differ in two sizes are never mixed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "analyze/evidence_view.hpp"
#include "measure/finding.hpp"

namespace wb {

std::vector<Finding> analyze_scaling(const Evidence& evidence);

namespace {

constexpr std::size_t k_min_sizes = 3;
constexpr double k_min_work_range = 2;      // below it, an exponent says nothing
constexpr double k_linear_tolerance = 0.1;  // of the exponent about 1

struct Family {
  Problem rest;  ///< the problem with the varied size taken out: what all members share
  std::int64_t size = 0;
};

/// One way in which problems may differ; nothing when the problem is not of that kind.
struct Axis {
  std::string_view name;
  std::optional<Family> (*split)(Problem problem);
};

std::optional<Family> by_batch_heads(Problem problem) {
  const std::int64_t size = problem.B * problem.Hq;
  problem.B = 1;
  problem.Hq /= problem.Hkv;  // the group size of GQA stays
  problem.Hkv = 1;
  return Family{problem, size};
}

std::optional<Family> by_sequence(Problem problem) {
  if (problem.Sq != problem.Skv) return std::nullopt;
  const std::int64_t size = problem.Sq;
  problem.Sq = problem.Skv = 1;
  return Family{problem, size};
}

std::optional<Family> by_keys(Problem problem) {
  if (problem.Sq == problem.Skv) return std::nullopt;
  const std::int64_t size = problem.Skv;
  problem.Skv = 1;
  return Family{problem, size};
}

std::optional<Family> by_head_dim(Problem problem) {
  if (problem.D != problem.Dv) return std::nullopt;
  const std::int64_t size = problem.D;
  problem.D = problem.Dv = 1;
  return Family{problem, size};
}

constexpr std::array<Axis, 4> k_axes{{
    {"B*Hq", by_batch_heads},
    {"S", by_sequence},
    {"Skv", by_keys},
    {"D", by_head_dim},
}};

struct Point {
  std::int64_t size = 0;
  double log_work = 0, log_time = 0;
  const Observation* observation = nullptr;
};

struct Fit {
  double exponent = 0, error = 0;
};

Fit fit(const std::vector<Point>& points) {
  const auto n = static_cast<double>(points.size());
  double mean_work = 0, mean_time = 0;
  for (const Point& point : points) {
    mean_work += point.log_work / n;
    mean_time += point.log_time / n;
  }
  double xx = 0, xy = 0;
  for (const Point& point : points) {
    xx += (point.log_work - mean_work) * (point.log_work - mean_work);
    xy += (point.log_work - mean_work) * (point.log_time - mean_time);
  }
  const double exponent = xy / xx;
  double residual = 0;
  for (const Point& point : points) {
    const double miss = point.log_time - mean_time - exponent * (point.log_work - mean_work);
    residual += miss * miss;
  }
  return {exponent, std::sqrt(residual / (n - 2) / xx)};
}

std::string_view class_of(double exponent) {
  if (exponent < 1 - k_linear_tolerance) return "sub-linear";
  return exponent > 1 + k_linear_tolerance ? "super-linear" : "linear";
}

std::optional<Finding> finding_of(const Axis& axis, std::vector<Point> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.log_work < b.log_work; });
  std::set<std::int64_t> sizes;
  for (const Point& point : points) sizes.insert(point.size);
  const Point& first = points.front();
  const Point& last = points.back();
  const double range = std::exp(last.log_work - first.log_work);
  if (sizes.size() < k_min_sizes || !(range >= k_min_work_range)) return std::nullopt;
  const Fit line = fit(points);
  const auto before = std::find_if(points.rbegin(), points.rend(), [&](const Point& point) {
    return point.log_work < last.log_work;
  });
  const double last_step = (last.log_time - before->log_time) / (last.log_work - before->log_work);
  Finding finding;
  finding.analysis = "scaling";
  finding.statement = fmt::format(
      "{} ({}): time grows as work^{:.2f} (standard error {:.2f}) over {} = {} to {} ({:.3g} times "
      "the work in {:.3g} times the time): {}",
      last.observation->subject, to_string(last.observation->plan), line.exponent, line.error,
      axis.name, *sizes.begin(), *sizes.rbegin(), range, std::exp(last.log_time - first.log_time),
      class_of(line.exponent));
  finding.figures = {{"subject", last.observation->subject},
                     {"plan", to_string(last.observation->plan)},
                     {"axis", axis.name},
                     {"exponent", line.exponent},
                     {"exponent_standard_error", line.error},
                     {"last_step_exponent", last_step},
                     {"class", class_of(line.exponent)},
                     {"sizes", sizes},
                     {"work_ratio", range},
                     {"time_ratio", std::exp(last.log_time - first.log_time)}};
  for (const Point& point : points) {
    finding.events.insert(finding.events.end(), point.observation->events.begin(),
                          point.observation->events.end());
  }
  finding.unseen =
      "a fixed cost per call pulls the exponent down at the small end; "
      "last_step_exponent leaves it out";
  return finding;
}

}  // namespace

std::vector<Finding> analyze_scaling(const Evidence& evidence) {
  std::vector<Finding> findings;
  for (const Axis& axis : k_axes) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<Point>> families;
    for (const Observation& observation : evidence.observations) {
      if (!has_time(observation)) continue;
      const auto family = axis.split(observation.problem);
      const Work demanded = work(observation.problem);
      if (!family || !(demanded.flops > 0)) continue;
      const std::string key = fmt::format("{}|{}|{}", observation.subject,
                                          to_string(observation.plan), to_text(family->rest));
      if (!families.contains(key)) order.push_back(key);
      families[key].push_back({family->size, std::log(demanded.flops),
                               std::log(observation.measurement.median_us), &observation});
    }
    for (const std::string& key : order) {
      if (auto finding = finding_of(axis, families.at(key)))
        findings.push_back(*std::move(finding));
    }
  }
  return findings;
}

}  // namespace wb
