// SPDX-License-Identifier: MIT
// What limits a problem on this device, by its fastest subject: the cost of a call (launch), too
// little parallel work (latency), memory or compute. Explains why advice for large problems does
// not help small ones.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/evidence.hpp"
#include "measure/finding.hpp"
#include "problem/attention.hpp"

namespace wb::analyze {

using measure::Evidence;
using measure::Finding;
using measure::Observation;

std::vector<Finding> analyze_regime(const Evidence& evidence);

namespace {

/// A subject that reaches half of a peak is bound by it, however little parallelism the problem has
/// by itself (it may split keys, for example).
constexpr double k_near_peak_share = 0.5;

struct Limits {
  double flop_us = 0, memory_us = 0;  ///< at the peaks; 0: peak unknown
  double row_blocks = 0;              ///< independent blocks of 64 query rows
  double intensity = 0, ridge = 0;    ///< FLOP per byte; ridge 0: unknown
};

/// By the units of the subject where its products are split, else by those of the dtype.
Limits limits_of(const Evidence& evidence, const Observation& best) {
  const device::Device& device = evidence.device;
  const problem::Problem& problem = best.problem;
  Limits limits;
  const problem::Work demanded = problem::work(problem);
  const ComputeRoof roof = compute_roof(evidence, best);
  const auto flops_per_s =
      known(roof.products > 1 ? roof.flops_per_s : device::peak_flops_per_s(device, problem.dtype));
  const auto bytes_per_s = known(device.memory_bytes_per_s);
  if (flops_per_s) limits.flop_us = demanded.flops / *flops_per_s * 1e6;
  if (bytes_per_s) limits.memory_us = demanded.min_bytes / *bytes_per_s * 1e6;
  if (flops_per_s && bytes_per_s) limits.ridge = *flops_per_s / *bytes_per_s;
  limits.intensity = demanded.flops / demanded.min_bytes;
  limits.row_blocks = static_cast<double>(problem::row_block_count(problem));
  return limits;
}

struct Verdict {
  std::string regime;  ///< "launch", "latency", "memory", "compute" or "unknown"
  std::string reason;
};

Verdict by_roofline(const Limits& limits, double time_us) {
  if (!(limits.flop_us > 0) || !(limits.memory_us > 0)) {
    return {"unknown", limits.flop_us > 0 ? "the memory bandwidth of this device is not known"
                                          : "the compute peak for this dtype is not known"};
  }
  const bool memory = limits.memory_us > limits.flop_us;
  const double share = std::max(limits.memory_us, limits.flop_us) / time_us;
  return {
      memory ? "memory" : "compute",
      fmt::format("{:.3g} FLOP per byte is {} the ridge point {:.3g}, and the best time is "
                  "{:.0f} % of that peak{}",
                  limits.intensity, memory ? "below" : "at or above", limits.ridge, 100 * share,
                  share < 0.1 ? "; so far the implementation sets the time, not the device" : "")};
}

Verdict judge(const Evidence& evidence, const Limits& limits, const Observation& best) {
  const double time_us = best.measurement.median_us;
  const double ideal_us = std::max(limits.flop_us, limits.memory_us);
  if (ideal_us >= k_near_peak_share * time_us) return by_roofline(limits, time_us);
  const double overhead_us = evidence.call_overhead_us;
  if (overhead_us > 0 && overhead_us >= k_call_dominates_frac * time_us) {
    return {"launch", fmt::format("an empty call takes {:.3g} us of the {:.3g} us ({:.0f} %)",
                                  overhead_us, time_us, 100 * overhead_us / time_us)};
  }
  const auto units = static_cast<double>(evidence.device.units);
  const CallBlocks blocks = blocks_of(evidence, best);
  const auto count = static_cast<double>(blocks.most);
  if (units > 0 && limits.row_blocks < units && count < units) {
    const std::string tiles = blocks.source == CallBlocks::Source::rows
                                  ? fmt::format(" in tiles of {} rows", problem::k_rows_per_block)
                                  : std::string();
    return {"latency",
            fmt::format("{} for {:.0f} units: at most {:.0f} % of the device can work{} unless "
                        "keys are split too",
                        blocks.words, units, 100 * count / units, tiles)};
  }
  return by_roofline(limits, time_us);
}

std::string unseen_of(const Evidence& evidence, const Observation& best) {
  std::string unseen;
  if (!(evidence.call_overhead_us > 0)) unseen = "the cost of an empty call was not measured";
  const auto memory_shown = shows_memory(best.plan, evidence.device, problem::work(best.problem));
  if (!memory_shown.value_or(false)) {
    if (!unseen.empty()) unseen += "; ";
    unseen += memory_shown ? "the tensors fit in the last-level cache, so a warm plan need not "
                             "touch memory"
                           : "whether the tensors fit in a cache (its size is not known)";
  }
  return unseen;
}

}  // namespace

std::vector<Finding> analyze_regime(const Evidence& evidence) {
  std::vector<std::string> order;
  std::map<std::string, const Observation*> fastest;
  for (const Observation& observation : evidence.observations) {
    if (!has_time(observation)) continue;
    const std::string key = problem::to_text(observation.problem);
    const auto [slot, is_new] = fastest.try_emplace(key, &observation);
    if (is_new) {
      order.push_back(key);
    } else if (observation.measurement.median_us < slot->second->measurement.median_us) {
      slot->second = &observation;
    }
  }
  std::vector<Finding> findings;
  for (const std::string& key : order) {
    const Observation& best = *fastest.at(key);
    const double time_us = best.measurement.median_us;
    const Limits limits = limits_of(evidence, best);
    const Verdict verdict = judge(evidence, limits, best);
    Finding finding;
    finding.analysis = "regime";
    finding.problem = problem::label(best.problem);
    finding.statement =
        verdict.regime == "unknown"
            ? fmt::format("{}: what bounds it is not known: {}", finding.problem, verdict.reason)
            : fmt::format("{} is {}-bound: {}", finding.problem, verdict.regime, verdict.reason);
    finding.figures = {{"regime", verdict.regime},
                       {"subject", best.subject},
                       {"plan", to_string(best.plan)},
                       {"time_us", time_us},
                       {"row_blocks", limits.row_blocks},
                       {"units", evidence.device.units},
                       {"intensity_flops_per_byte", limits.intensity}};
    if (limits.flop_us > 0) finding.figures["flop_floor_us"] = limits.flop_us;
    if (limits.memory_us > 0) finding.figures["memory_floor_us"] = limits.memory_us;
    if (limits.ridge > 0) finding.figures["ridge_flops_per_byte"] = limits.ridge;
    if (evidence.call_overhead_us > 0) {
      finding.figures["call_overhead_us"] = evidence.call_overhead_us;
    }
    finding.events = best.events;
    finding.unseen = unseen_of(evidence, best);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace wb::analyze
