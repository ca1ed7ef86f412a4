// SPDX-License-Identifier: MIT
// Signs of a grid that does not cover batch and heads. While the blocks of all heads fit on the
// device, more heads cost an honest grid no time, but a grid that iterates over them takes
// proportional time. On a full device every grid does, so only smaller sizes are used. If a tool
// saw the launches, the number of blocks decides instead of the times.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "analyze/evidence.hpp"
#include "analyze/scaling.hpp"

namespace wb::analyze {

using measure::Evidence;
using measure::Finding;
using measure::Observation;

std::vector<Finding> analyze_grid_scaling(const Evidence& evidence);

namespace {

constexpr std::int64_t k_min_growth = 2;   // of the heads between the compared sizes
constexpr double k_serial_exponent = 0.8;  // from here on time is proportional to the heads
constexpr double k_parallel_exponent = 0.4;

double exponent(const ScalingPoint& from, const ScalingPoint& to) {
  return std::log(to.time_us / from.time_us) /
         std::log(static_cast<double>(to.size) / static_cast<double>(from.size));
}

std::vector<std::string> labels_of(std::initializer_list<const ScalingPoint*> points) {
  std::vector<std::string> labels;
  for (const ScalingPoint* point : points)
    labels.push_back(problem::label(point->observation->problem));
  return labels;
}

Finding finding_of(const ScalingFamily& family, const ScalingPoint& from, const ScalingPoint& to) {
  Finding finding;
  finding.analysis = "grid_scaling";
  finding.figures = {
      {"subject", family.subject},           {"plan", to_string(family.plan)},
      {"heads", {from.size, to.size}},       {"time_us", {from.time_us, to.time_us}},
      {"problems", labels_of({&from, &to})}, {"exponent_over_heads", exponent(from, to)}};
  for (const ScalingPoint* point : {&from, &to}) {
    finding.events.insert(finding.events.end(), point->observation->events.begin(),
                          point->observation->events.end());
  }
  return finding;
}

/// Decides by the launches. A grid as large as the device may be persistent, which is no sign.
std::optional<Finding> by_launches(const Evidence& evidence, const ScalingFamily& family) {
  const ScalingPoint& from = family.points.front();
  const ScalingPoint& to = family.points.back();
  const auto few = most_blocks(evidence, *from.observation),
             many = most_blocks(evidence, *to.observation);
  if (!few || !many || to.size < k_min_growth * from.size) return std::nullopt;
  const bool is_same = *few == *many && *many < evidence.device.units;
  Finding finding = finding_of(family, from, to);
  finding.statement = fmt::format(
      "{} ({}): {} blocks for {} heads in the batch and {} for {}: {}", family.subject,
      to_string(family.plan), *few, from.size, *many, to.size,
      is_same ? fmt::format("the grid does not grow with them and is smaller than the device ({} "
                            "{}): batch and heads are worked off in series",
                            evidence.device.units, unit_word(evidence.device))
              : std::string("the grid is no sign of serial batch and heads"));
  finding.figures["blocks"] = {*few, *many};
  finding.figures["verdict"] = is_same ? "serial" : "not serial";
  finding.figures["by"] = "launches";
  return finding;
}

/// The widest pair of sizes below a full device.
std::optional<std::pair<std::size_t, std::size_t>> step_below_full(const ScalingFamily& family,
                                                                   const Evidence& evidence) {
  for (std::size_t to = family.points.size(); to-- > 1;) {
    const CallBlocks blocks = blocks_of(evidence, *family.points[to].observation);
    if (blocks.most > evidence.device.units) continue;
    if (family.points[to].size >= k_min_growth * family.points[0].size) {
      return std::pair<std::size_t, std::size_t>{0, to};
    }
  }
  return std::nullopt;
}

/// The fastest other subject at the second of two problems, with its exponent between them.
std::optional<std::pair<std::string, double>> others_exponent(const Evidence& evidence,
                                                              const ScalingPoint& from,
                                                              const ScalingPoint& to) {
  const auto key = [](const Observation& observation) {
    return problem::to_text(observation.problem) + to_string(observation.plan).data();
  };
  std::map<std::string, double> first;
  std::optional<std::pair<std::string, double>> best;
  double best_us = 0;
  for (const Observation& other : evidence.beside) {
    if (has_time(other) && key(other) == key(*from.observation)) {
      first[other.subject] = other.measurement.median_us;
    }
  }
  for (const Observation& other : evidence.beside) {
    if (!has_time(other) || key(other) != key(*to.observation)) continue;
    if (!first.contains(other.subject) || other.subject == to.observation->subject) continue;
    const double time_us = other.measurement.median_us;
    if (best && time_us >= best_us) continue;
    best_us = time_us;
    best = {other.subject,
            std::log(time_us / first[other.subject]) /
                std::log(static_cast<double>(to.size) / static_cast<double>(from.size))};
  }
  return best;
}

/// More heads cost hardly any time while SMs are free: they run in parallel, and the smaller size
/// left SMs idle.
Finding runs_beside(const Evidence& evidence, const ScalingFamily& family, const ScalingPoint& from,
                    const ScalingPoint& to) {
  Finding finding = finding_of(family, from, to);
  finding.statement = fmt::format(
      "{} ({}): {} heads in the batch take {:.2f} times the time of {} (heads^{:.2f}): with {} "
      "some of "
      "the {} {} were idle",
      family.subject, to_string(family.plan), to.size, to.time_us / from.time_us, from.size,
      exponent(from, to), from.size, evidence.device.units, unit_word(evidence.device));
  finding.figures["verdict"] = "not serial";
  finding.figures["by"] = "times";
  // The larger size may have filled the device; units idled at the smaller one only.
  finding.figures["idle_on"] = labels_of({&from});
  finding.unseen = "the launch: how many of them had a block";
  return finding;
}

std::optional<Finding> by_times(const Evidence& evidence, const ScalingFamily& family) {
  const auto step = step_below_full(family, evidence);
  if (!step) return std::nullopt;
  const ScalingPoint& from = family.points[step->first];
  const ScalingPoint& to = family.points[step->second];
  const double grows = exponent(from, to);
  const CallBlocks blocks = blocks_of(evidence, *to.observation);
  if (grows <= k_parallel_exponent) return runs_beside(evidence, family, from, to);
  const auto other = others_exponent(evidence, from, to);
  if (grows < k_serial_exponent || (other && other->second > k_parallel_exponent)) {
    return std::nullopt;
  }
  Finding finding = finding_of(family, from, to);
  finding.statement = fmt::format(
      "{} ({}): time grows as heads^{:.2f} from {} to {} heads in the batch, though {} fit on the "
      "{} {} at once{}: the sign of a grid that takes batch and heads in series; the number of "
      "blocks of a launch would prove it",
      family.subject, to_string(family.plan), grows, from.size, to.size, blocks.words,
      evidence.device.units, unit_word(evidence.device),
      other ? fmt::format(", and {} grows as heads^{:.2f}", other->first, other->second) : "");
  finding.figures["verdict"] = "suspected";
  finding.figures["by"] = "times";
  if (other) {
    finding.figures["beside"] = other->first;
    finding.figures["beside_exponent_over_heads"] = other->second;
  }
  finding.unseen =
      "the launch: blocks of fewer rows fill the device sooner, and then time grows so "
      "with any grid";
  return finding;
}

}  // namespace

std::vector<Finding> analyze_grid_scaling(const Evidence& evidence) {
  std::vector<Finding> findings;
  if (evidence.device.backend != "cuda" || evidence.device.units <= 0) return findings;
  for (const ScalingFamily& family : scaling_families(evidence.observations)) {
    if (family.axis != "B*Hq" || family.points.size() < 2) continue;
    if (!is_told_plan(evidence, family.plan) || is_reference(evidence, family.subject)) continue;
    auto finding = by_launches(evidence, family);
    if (!finding) finding = by_times(evidence, family);
    if (finding) findings.push_back(*std::move(finding));
  }
  return findings;
}

}  // namespace wb::analyze
