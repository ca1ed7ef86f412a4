// SPDX-License-Identifier: MIT
// How time grows with work over problems that differ in one size only: the exponent b of time = c
// work^b, by least squares on logs, beside that of the reference. It uses work, not the size:
// attention's work is quadratic in S, and half of that under a causal rule. Problems that differ in
// two sizes are never mixed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "analyze/evidence_view.hpp"
#include "analyze/scaling_families.hpp"

namespace wb::analyze {

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
