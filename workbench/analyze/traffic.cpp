// SPDX-License-Identifier: MIT
#include "analyze/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyze/evidence.hpp"
#include "measure/finding.hpp"

namespace wb::analyze {

using problem::Problem;

namespace {

constexpr double k_softmax_flops = 5;  // per score

double real(std::int64_t value) {
  return static_cast<double>(value);
}

double element_bytes(const Problem& problem) {
  return real(static_cast<std::int64_t>(size_bytes(problem.dtype)));
}

/// The number of keys that any row sees: the last row's, since causal rules let later rows see
/// more.
std::int64_t seen_keys(const Problem& problem) {
  return problem::visible_keys(problem, problem.Sq - 1);
}

double query_heads(const Problem& problem) {
  return real(problem.B) * real(problem.Hq);
}

}  // namespace

std::array<PhaseWork, 3> phase_work(const Problem& problem) {
  const double element = element_bytes(problem);
  const double rows = query_heads(problem) * real(problem.Sq);
  const double pairs = problem::work(problem).kept_pairs;
  const double keys = real(problem.B) * real(problem.Hkv) * real(seen_keys(problem));
  const auto in = [&](double elements) { return elements * element; };
  return {{{"QK^T", 2 * real(problem.D) * pairs,
            in(rows * real(problem.D) + keys * real(problem.D) + pairs)},
           {"softmax", k_softmax_flops * pairs, in(2 * pairs)},
           {"PV", 2 * real(problem.Dv) * pairs,
            in(pairs + keys * real(problem.Dv) + rows * real(problem.Dv))}}};
}

double kv_bytes_of_head(const Problem& problem) {
  return real(seen_keys(problem)) * real(problem.D + problem.Dv) * element_bytes(problem);
}

double kv_bytes(const Problem& problem) {
  return real(problem.B) * real(problem.Hkv) * kv_bytes_of_head(problem);
}

double kv_requested_bytes(const Problem& problem, std::int64_t rows) {
  double keys = 0;  // of one query head
  if (problem.causal == problem::Causal::none) {
    keys = real((problem.Sq + rows - 1) / rows) * real(problem.Skv);
  } else {
    for (std::int64_t first = 0; first < problem.Sq; first += rows) {
      keys += real(problem::visible_keys(problem, std::min(first + rows, problem.Sq) - 1));
    }
  }
  return query_heads(problem) * keys * real(problem.D + problem.Dv) * element_bytes(problem);
}

double tensor_bytes(const Problem& problem) {
  const double element = element_bytes(problem);
  const double heads = query_heads(problem);
  const double pairs = real(problem.Sq) * real(problem.Skv);
  const double mask = problem.mask == problem::MaskKind::none ? 0
                      : problem.mask == problem::MaskKind::boolean
                          ? real(problem.B) * pairs
                          : real(problem.B) * pairs * element;
  return element * (heads * real(problem.Sq) * real(problem.D + problem.Dv) +
                    real(problem.B) * real(problem.Hkv) * real(problem.Skv) *
                        real(problem.D + problem.Dv)) +
         mask;
}

using device::Device;
using measure::Finding;

// What fits where for each problem: K and V of one head beside the fast memory of one unit (shared
// memory of an SM, L2 of a core), K and V of all heads and all tensors beside the last-level cache.
// It shows which re-reads of K and V a cache can serve, and says nothing about speed by itself.
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
