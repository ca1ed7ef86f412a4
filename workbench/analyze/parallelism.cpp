// SPDX-License-Identifier: MIT
// Whether parallelism alone limits the subject. On the observed problem with the most work, where
// every unit has blocks, a subject that still reaches little of its bound is limited by
// something else, and more blocks cannot help. If even that problem does not fill the device,
// parallelism may be the limit.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/evidence.hpp"
#include "measure/finding.hpp"

namespace wb::analyze {

using measure::Evidence;
using measure::Finding;
using measure::Observation;

std::vector<Finding> analyze_parallelism(const Evidence& evidence);

namespace {

constexpr double k_little = 0.3;  // of the bound; larger shares are not questioned
constexpr double k_full = 2;  // blocks per unit, so that a half-filled last wave does not matter

std::optional<Finding> finding_of(const Evidence& evidence, const Observation& observation) {
  const auto bound = time_bound(evidence, observation);
  if (!bound) return std::nullopt;
  const double share = bound->us / observation.measurement.median_us;
  if (share >= k_little) return std::nullopt;
  const auto units = static_cast<double>(evidence.device.units);
  const CallBlocks blocks = blocks_of(evidence, observation);
  const bool is_seen = blocks.source == CallBlocks::Source::launch;
  const bool is_full = static_cast<double>(blocks.least) >= k_full * units;
  Finding finding;
  finding.analysis = "parallelism";
  finding.problem = problem::label(observation.problem);
  finding.statement = fmt::format(
      "{} reaches {:.2g} % of its bound on {} ({}), the most work here, with {} for {:.0f} {}: {}",
      observation.subject, 100 * share, finding.problem, to_string(observation.plan), blocks.words,
      units, unit_word(evidence.device),
      is_full ? "not a matter of parallelism alone"
              : "too few to tell parallelism from other causes");
  finding.figures = {{"subject", observation.subject},
                     {"plan", to_string(observation.plan)},
                     {"roofline_frac", share},
                     {"blocks", blocks.least},
                     {"blocks_seen", is_seen},
                     {"units", evidence.device.units},
                     {"parallelism_only", is_full ? "no" : "open"}};
  finding.events = observation.events;
  if (blocks.source == CallBlocks::Source::rows) {
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
