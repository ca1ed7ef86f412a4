// SPDX-License-Identifier: MIT
// Whether parallelism alone limits the subject. On the observed problem with the most work, where
// every unit has blocks, a subject that still reaches little of the roofline is limited by
// something else, and more blocks cannot help. If even that problem does not fill the device,
// parallelism may be the limit.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/evidence.hpp"
#include "measure/finding.hpp"
#include "measure/roofline.hpp"
#include "problem/attention.hpp"

namespace wb::analyze {

using measure::Evidence;
using measure::Finding;
using measure::Observation;

std::vector<Finding> analyze_parallelism(const Evidence& evidence);

namespace {

constexpr double k_little = 0.3;  // of the roofline; larger shares are not questioned
constexpr double k_full = 2;  // blocks per unit, so that a half-filled last wave does not matter

struct Blocks {
  double count = 0;
  bool is_seen = false;  ///< from a launch; else blocks of 64 query rows, as in a tiled kernel
};

Blocks blocks_of(const Evidence& evidence, const Observation& observation) {
  if (const auto seen = most_blocks(evidence, observation)) {
    return {static_cast<double>(*seen), true};
  }
  return {static_cast<double>(problem::row_block_count(observation.problem)), false};
}

std::optional<Finding> finding_of(const Evidence& evidence, const Observation& observation) {
  const problem::Work demanded = work(observation.problem);
  const measure::RooflineFloor floor =
      measure::roofline_floor(evidence.device, observation.problem, demanded);
  const bool with_memory =
      shows_memory(observation.plan, evidence.device, demanded).value_or(false);
  const double floor_us = with_memory ? std::max(floor.flop_us, floor.byte_us) : floor.flop_us;
  if (!(floor.flop_us > 0)) return std::nullopt;
  const double share = floor_us / observation.measurement.median_us;
  if (share >= k_little) return std::nullopt;
  const auto units = static_cast<double>(evidence.device.units);
  const Blocks blocks = blocks_of(evidence, observation);
  const bool is_full = blocks.count >= k_full * units;
  const std::string what = blocks.is_seen ? fmt::format("a launch of {:.0f} blocks", blocks.count)
                                          : fmt::format("{:.0f} blocks of {} rows", blocks.count,
                                                        problem::k_rows_per_block);
  Finding finding;
  finding.analysis = "parallelism";
  finding.problem = problem::label(observation.problem);
  finding.statement = fmt::format(
      "{} reaches {:.2g} % of the roofline on {} ({}), the most work here, with {} for {:.0f} {}: "
      "{}",
      observation.subject, 100 * share, finding.problem, to_string(observation.plan), what, units,
      unit_word(evidence.device),
      is_full ? "not a matter of parallelism alone"
              : "too few to tell parallelism from other causes");
  finding.figures = {{"subject", observation.subject},
                     {"plan", to_string(observation.plan)},
                     {"roofline_frac", share},
                     {"blocks", blocks.count},
                     {"blocks_seen", blocks.is_seen},
                     {"units", evidence.device.units},
                     {"parallelism_only", is_full ? "no" : "open"}};
  finding.events = observation.events;
  if (!blocks.is_seen) {
    finding.unseen =
        evidence.device.backend == "cpu"
            ? "how the subject shares its work out over the cores"
            : "the launch: a grid that misses batch or heads has fewer blocks than that";
  }
  return finding;
}

}  // namespace

std::vector<Finding> analyze_parallelism(const Evidence& evidence) {
  if (evidence.device.units <= 0) return {};
  std::map<std::pair<std::string, measure::PlanKind>, const Observation*> largest;
  for (const Observation& observation : evidence.observations) {
    if (!has_time(observation) || !is_told_plan(evidence, observation.plan)) continue;
    const auto [slot, is_new] =
        largest.try_emplace({observation.subject, observation.plan}, &observation);
    if (!is_new && work(observation.problem).flops > work(slot->second->problem).flops) {
      slot->second = &observation;
    }
  }
  std::vector<Finding> findings;
  for (const auto& [key, observation] : largest) {
    if (auto finding = finding_of(evidence, *observation)) findings.push_back(*std::move(finding));
  }
  return findings;
}

}  // namespace wb::analyze
