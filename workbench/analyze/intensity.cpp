// SPDX-License-Identifier: MIT
// Arithmetic intensity of each problem: by phase with the scores in memory, and as a whole with the
// scores on chip, beside the device's ridge for the problem's dtype; how often K and V are
// requested for some numbers of rows per block; and the rows that a block needs to exceed the ridge
// without a cache. Depends on problem and device only, not on times.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "analyze/evidence.hpp"
#include "analyze/traffic.hpp"
#include "core/json.hpp"
#include "measure/finding.hpp"
#include "problem/attention.hpp"

namespace wb::analyze {

using measure::Finding;
using problem::Problem;
using problem::Work;

std::vector<Finding> analyze_intensity(const measure::Evidence& evidence);

namespace {

constexpr std::array<std::int64_t, 3> k_told_rows{1, 16, problem::k_rows_per_block};

double redundancy(const Problem& problem, std::int64_t rows) {
  return kv_requested_bytes(problem, rows) / kv_bytes(problem);
}

std::optional<double> ridge_of(const device::Device& device, Dtype dtype) {
  const auto flops_per_s = known(device::peak_flops_per_s(device, dtype));
  const auto bytes_per_s = known(device.memory_bytes_per_s);
  if (!flops_per_s || !bytes_per_s) return std::nullopt;
  return *flops_per_s / *bytes_per_s;
}

/// FLOP per byte for blocks of this many rows without any cache: K and V count as often as they are
/// requested.
double intensity_at(const Problem& problem, const Work& demanded, std::int64_t rows) {
  const double bytes = demanded.min_bytes - kv_bytes(problem) + kv_requested_bytes(problem, rows);
  return demanded.flops / bytes;
}

/// The smallest power of two up to Sq, as rows per block, that reaches the ridge.
std::optional<std::int64_t> rows_for(const Problem& problem, const Work& demanded, double ridge) {
  for (std::int64_t rows = 1;; rows *= 2) {
    const std::int64_t taken = std::min(rows, problem.Sq);
    if (intensity_at(problem, demanded, taken) >= ridge) return taken;
    if (taken == problem.Sq) return std::nullopt;
  }
}

std::string against_ridge(const Problem& problem, const Work& demanded,
                          std::optional<double> ridge) {
  if (!ridge) return "";
  const double whole = demanded.flops / demanded.min_bytes;
  if (whole < *ridge) {
    return fmt::format(", below the ridge {:.3g}: at best memory-bound where it comes from memory",
                       *ridge);
  }
  const auto rows = rows_for(problem, demanded, *ridge);
  if (!rows) {
    return fmt::format(", above the ridge {:.3g} only if caches serve K and V again", *ridge);
  }
  return fmt::format(
      ", above the ridge {:.3g}; without caches from about {} query row{} a block on", *ridge,
      *rows, *rows == 1 ? "" : "s");
}

Finding finding_of(const device::Device& device, const Problem& problem,
                   const std::vector<std::int64_t>& events) {
  const Work demanded = problem::work(problem);
  const auto phases = phase_work(problem);
  const auto ridge = ridge_of(device, problem.dtype);
  Finding finding;
  finding.analysis = "intensity";
  finding.problem = problem::label(problem);
  finding.statement = fmt::format(
      "{}: {:.3g} FLOP per byte fused{}; with the scores in memory QK^T {:.3g}, softmax {:.3g}, PV "
      "{:.3g}",
      finding.problem, demanded.flops / demanded.min_bytes, against_ridge(problem, demanded, ridge),
      phases[0].intensity(), phases[1].intensity(), phases[2].intensity());
  Json reads = Json::array();
  for (const std::int64_t rows : k_told_rows) {
    if (rows > problem.Sq && rows != 1) continue;
    reads.push_back({{"rows_per_block", rows},
                     {"kv_redundancy", redundancy(problem, rows)},
                     {"kv_requested_bytes", kv_requested_bytes(problem, rows)},
                     {"intensity_flops_per_byte", intensity_at(problem, demanded, rows)}});
  }
  if (problem.Sq > 1) {
    const auto& most = reads.front();
    finding.statement += fmt::format(
        "; at one query row a block K and V are asked for {:.4g} times ({}, {} once)",
        most["kv_redundancy"].get<double>(), byte_words(most["kv_requested_bytes"].get<double>()),
        byte_words(kv_bytes(problem)));
  }
  finding.figures = {{"intensity_flops_per_byte", demanded.flops / demanded.min_bytes},
                     {"flops", demanded.flops},
                     {"min_bytes", demanded.min_bytes},
                     {"qk_flops_per_byte", phases[0].intensity()},
                     {"softmax_flops_per_byte", phases[1].intensity()},
                     {"pv_flops_per_byte", phases[2].intensity()},
                     {"unfused_bytes", phases[0].bytes + phases[1].bytes + phases[2].bytes},
                     {"kv_bytes", kv_bytes(problem)},
                     {"kv_reads", std::move(reads)}};
  if (ridge) {
    finding.figures["ridge_flops_per_byte"] = *ridge;
    if (const auto rows = rows_for(problem, demanded, *ridge)) {
      finding.figures["rows_above_ridge"] = *rows;
    }
  }
  finding.events = events;
  finding.unseen = ridge ? "what caches serve of K and V that are asked for again"
                         : "the ridge: a peak of this device is not known";
  return finding;
}

}  // namespace

std::vector<Finding> analyze_intensity(const measure::Evidence& evidence) {
  std::vector<Finding> findings;
  std::set<std::string> told;
  for (const measure::Observation& observation : evidence.observations) {
    if (!has_time(observation) || !(problem::work(observation.problem).flops > 0)) continue;
    if (!told.insert(problem::to_text(observation.problem)).second) continue;
    findings.push_back(finding_of(evidence.device, observation.problem, observation.events));
  }
  return findings;
}

}  // namespace wb::analyze
