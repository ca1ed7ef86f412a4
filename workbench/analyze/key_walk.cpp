// SPDX-License-Identifier: MIT
// Signs that keys are processed sequentially. While the blocks of all query rows fit on the device,
// more rows cost no time, so time that is proportional to the keys is the length of one block's
// loop, while other SMs are free to share it. On a full device time grows with the keys in any
// order, so nothing is concluded.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "analyze/evidence.hpp"
#include "analyze/scaling.hpp"

namespace wb::analyze {

using measure::Evidence;
using measure::Finding;

std::vector<Finding> analyze_key_walk(const Evidence& evidence);

namespace {

constexpr std::int64_t k_walk_min_growth = 4;   // of the keys between the compared sizes
constexpr double k_walk_serial_exponent = 0.8;  // from here on time is proportional to the keys
constexpr double k_walk_parallel_exponent = 0.4;

/// The largest size at which every block has its own SM.
const ScalingPoint* last_below_full(const Evidence& evidence, const ScalingFamily& family) {
  const ScalingPoint* last = nullptr;
  for (const ScalingPoint& point : family.points) {
    const bool fits = blocks_of(evidence, *point.observation).most <= evidence.device.units;
    if (fits && (last == nullptr || point.size > last->size)) last = &point;
  }
  return last;
}

std::optional<Finding> finding_of(const Evidence& evidence, const ScalingFamily& family) {
  const ScalingPoint* to = last_below_full(evidence, family);
  if (to == nullptr) return std::nullopt;
  const ScalingPoint& from = family.points.front();
  if (to->size < k_walk_min_growth * from.size || from.size <= 0) return std::nullopt;
  const double grows = std::log(to->time_us / from.time_us) /
                       std::log(static_cast<double>(to->size) / static_cast<double>(from.size));
  const CallBlocks blocks = blocks_of(evidence, *to->observation);
  const bool is_serial = grows >= k_walk_serial_exponent,
             is_parallel = grows <= k_walk_parallel_exponent;
  Finding finding;
  finding.analysis = "key_walk";
  finding.statement = fmt::format(
      "{} ({}): {} = {} to {} takes {:.2f} times the time (keys^{:.2f}), though {} fit on the {} "
      "{} at once: {}",
      family.subject, to_string(family.plan), family.axis, from.size, to->size,
      to->time_us / from.time_us, grows, blocks.words, evidence.device.units,
      unit_word(evidence.device),
      is_serial     ? "the keys are walked one after another"
      : is_parallel ? "time does not follow the walk over the keys"
                    : "between the two, which decides nothing");
  finding.figures = {
      {"subject", family.subject},
      {"plan", to_string(family.plan)},
      {"axis", family.axis},
      {"keys", {from.size, to->size}},
      {"time_us", {from.time_us, to->time_us}},
      {"problems",
       {problem::label(from.observation->problem), problem::label(to->observation->problem)}},
      {"exponent_over_keys", grows},
      {"verdict", is_serial     ? "serial"
                  : is_parallel ? "not serial"
                                : "open"}};
  for (const ScalingPoint* point : {&from, to}) {
    finding.events.insert(finding.events.end(), point->observation->events.begin(),
                          point->observation->events.end());
  }
  finding.unseen =
      "the walk itself: a fixed cost hides it at the small end, and a block that waits for memory "
      "looks like one that computes";
  if (blocks.source == CallBlocks::Source::rows) {
    finding.unseen +=
        "; how many blocks it launches: of fewer than 64 rows they may fill the device";
  }
  return finding;
}

}  // namespace

std::vector<Finding> analyze_key_walk(const Evidence& evidence) {
  std::vector<Finding> findings;
  if (evidence.device.units <= 0) return findings;
  for (const ScalingFamily& family : scaling_families(evidence.observations)) {
    if (family.axis != "S" && family.axis != "Skv") continue;
    // Keys beyond the last row are masked there, so more keys do not lengthen the loop.
    const bool is_masked =
        family.axis == "Skv" &&
        family.points.front().observation->problem.causal == problem::Causal::top_left;
    if (is_masked) continue;
    if (!is_told_plan(evidence, family.plan) || is_reference(evidence, family.subject)) continue;
    if (auto finding = finding_of(evidence, family)) findings.push_back(*std::move(finding));
  }
  return findings;
}

}  // namespace wb::analyze
