// SPDX-License-Identifier: MIT
// What fits where for each problem: K and V of one head beside the fast memory of one unit (shared
// memory of an SM, L2 of a core), K and V of all heads and all tensors beside the last-level cache.
// It shows which re-reads of K and V a cache can serve, and says nothing about speed by itself.
#include <fmt/format.h>

#include <set>

#include "analyze/evidence_view.hpp"
#include "analyze/traffic.hpp"
#include "measure/finding.hpp"

namespace wb::analyze {

using device::Device;
using measure::Finding;

std::vector<Finding> analyze_working_set(const measure::Evidence& evidence);

namespace {

struct Store {
  std::string name;
  std::optional<double> bytes;
};

/// The private memory of one unit, apart from registers.
Store unit_store(const Device& device) {
  if (device.backend == "cpu") return {"the L2 cache of a core", known(device.l2_bytes)};
  const bool is_nvidia = device.backend == "cuda";
  return {is_nvidia ? "the shared memory of an SM" : "the shared memory of a CU",
          known(device.shared_bytes_per_unit)};
}

Store last_store(const Device& device) {
  return {known(device.l3_bytes) ? "the L3 cache" : "the L2 cache", last_level_cache_bytes(device)};
}

std::string fit_words(std::string_view what, double bytes, const Store& store) {
  if (!store.bytes) return fmt::format("{} {}", what, byte_words(bytes));
  return fmt::format("{} {}, {:.3g} % of {}{}", what, byte_words(bytes), 100 * bytes / *store.bytes,
                     store.name, bytes > *store.bytes ? ": too large for it" : "");
}

Finding finding_of(const Device& device, const problem::Problem& problem,
                   const std::vector<std::int64_t>& events) {
  const Store unit = unit_store(device), last = last_store(device);
  const double head = kv_bytes_of_head(problem), all = tensor_bytes(problem);
  Finding finding;
  finding.analysis = "working_set";
  finding.problem = problem::label(problem);
  finding.statement =
      fmt::format("{}: {}; {}", finding.problem, fit_words("K and V of one head are", head, unit),
                  fit_words("all tensors are", all, last));
  finding.figures = {
      {"kv_head_bytes", head}, {"kv_bytes", kv_bytes(problem)}, {"tensor_bytes", all}};
  if (unit.bytes) {
    finding.figures["unit_store_bytes"] = *unit.bytes;
    finding.figures["kv_head_fits_unit"] = head <= *unit.bytes;
  }
  if (last.bytes) {
    finding.figures["last_cache_bytes"] = *last.bytes;
    finding.figures["kv_fits_last_cache"] = kv_bytes(problem) <= *last.bytes;
    finding.figures["tensors_fit_last_cache"] = all <= *last.bytes;
  }
  finding.events = events;
  const auto note = [&](std::string words) {
    finding.unseen += (finding.unseen.empty() ? "" : "; ") + words;
  };
  if (!unit.bytes) note("the size of " + unit.name);
  if (!last.bytes) note("the size of the last cache");
  note("what caches really held: only a profiler's hit rates tell");
  return finding;
}

}  // namespace

std::vector<Finding> analyze_working_set(const measure::Evidence& evidence) {
  std::vector<Finding> findings;
  std::set<std::string> told;
  for (const measure::Observation& observation : evidence.observations) {
    if (!has_time(observation) || !told.insert(problem::to_text(observation.problem)).second)
      continue;
    findings.push_back(finding_of(evidence.device, observation.problem, observation.events));
  }
  return findings;
}

}  // namespace wb::analyze
