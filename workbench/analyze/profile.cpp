// SPDX-License-Identifier: MIT
// Nsight Compute's facts on each call's main kernel: utilization of SMs and memory, and its rules'
// advice; or, when it could not run, that hit rates, bank conflicts, coalescing and achieved
// occupancy are unknown.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analyze/evidence.hpp"
#include "core/ascii.hpp"
#include "measure/finding.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::analyze {

using measure::Finding;
using measure::KernelFacts;

std::vector<Finding> analyze_profile(const measure::Evidence& evidence);

namespace {

/// Below k_idle_percent of both, ncu's rule SOLBottleneck calls a kernel latency-bound; from
/// k_busy_percent on it calls a unit well utilized (Nsight Compute documentation, Speed of Light).
constexpr double k_idle_percent = 60, k_busy_percent = 80;
constexpr std::size_t k_most_name_bytes = 80, k_most_advice = 3;

struct Metric {
  const char* key;     ///< in KernelFacts::metrics
  const char* figure;  ///< of the finding
  double unit;
};

constexpr std::array<Metric, 9> k_metrics{{
    {"Compute (SM) Throughput [%]", "sm_throughput_frac", 0.01},
    {"Memory Throughput [%]", "memory_throughput_frac", 0.01},
    {"DRAM Throughput [%]", "dram_throughput_frac", 0.01},
    {"Memory Throughput [byte/s]", "dram_bytes_per_s", 1},
    {"L1/TEX Hit Rate [%]", "l1_hit_frac", 0.01},
    {"L2 Hit Rate [%]", "l2_hit_frac", 0.01},
    {"Theoretical Occupancy [%]", "theoretical_occupancy_frac", 0.01},
    {"Achieved Occupancy [%]", "achieved_occupancy_frac", 0.01},
    {"Avg. Active Threads Per Warp []", "active_threads_per_warp", 1},
}};

std::optional<double> metric(const KernelFacts& kernel, const char* key) {
  const auto found = kernel.metrics.find(key);
  return found == kernel.metrics.end() ? std::nullopt : std::optional(found->second);
}

std::string reading(std::optional<double> sm, std::optional<double> memory) {
  if (!sm || !memory) return "";
  if (*sm < k_idle_percent && *memory < k_idle_percent) {
    return ": neither is busy, so latency limits it (ncu's own rule: both below 60 %)";
  }
  const bool is_memory = *memory > *sm;
  return fmt::format(": {} is {}", is_memory ? "memory" : "the SM",
                     std::max(*sm, *memory) >= k_busy_percent ? "well used" : "the busier");
}

/// True when one of ncu's rules mentions it. Absence proves nothing, since a rule needs its
/// section.
bool is_advised(const KernelFacts& kernel, std::string_view words) {
  return std::any_of(kernel.advice.begin(), kernel.advice.end(), [&](std::string advice) {
    std::transform(advice.begin(), advice.end(), advice.begin(), ascii::lower);
    return advice.find(words) != std::string::npos;
  });
}

Finding finding_of(const KernelFacts& kernel) {
  const auto sm = metric(kernel, "Compute (SM) Throughput [%]");
  const auto memory = metric(kernel, "Memory Throughput [%]");
  std::string words;
  const auto say = [&](const char* what, std::optional<double> percent) {
    if (percent) words += fmt::format("{}{} {:.3g} %", words.empty() ? "" : ", ", what, *percent);
  };
  say("SM throughput", sm);
  say("memory throughput", memory);
  say("DRAM", metric(kernel, "DRAM Throughput [%]"));
  words += reading(sm, memory);
  const auto achieved = metric(kernel, "Achieved Occupancy [%]");
  const auto possible = metric(kernel, "Theoretical Occupancy [%]");
  if (achieved && possible) {
    words += fmt::format("; occupancy {:.3g} % of {:.3g} % possible", *achieved, *possible);
  }
  Finding finding;
  finding.analysis = "profile";
  finding.problem = problem::label(*kernel.problem);
  finding.statement = fmt::format("{} on {}: ncu saw {}: {}", kernel.subject, finding.problem,
                                  variant::cut_in_the_middle(kernel.kernel, k_most_name_bytes),
                                  words.empty() ? "no throughput" : words);
  finding.figures = {{"subject", kernel.subject}, {"kernel", kernel.kernel}};
  for (const Metric& one : k_metrics) {
    if (const auto value = metric(kernel, one.key)) finding.figures[one.figure] = *value * one.unit;
  }
  finding.figures["says_uncoalesced"] = is_advised(kernel, "coalesced");
  finding.figures["says_bank_conflicts"] = is_advised(kernel, "bank conflict");
  if (!kernel.advice.empty()) {
    const std::size_t quoted = std::min(kernel.advice.size(), k_most_advice);
    finding.figures["advice"] = std::vector<std::string>(
        kernel.advice.begin(), kernel.advice.begin() + static_cast<std::ptrdiff_t>(quoted));
    finding.statement += fmt::format("; ncu advises: \"{}\"", kernel.advice.front());
  }
  finding.events = kernel.events;
  finding.unseen =
      "ncu ran one call, at clocks and with caches of its own; its times are none here";
  return finding;
}

}  // namespace

std::vector<Finding> analyze_profile(const measure::Evidence& evidence) {
  std::vector<std::string> order;
  std::map<std::string, const KernelFacts*> calls;
  for (const KernelFacts& kernel : evidence.kernels) {
    if (kernel.source != "ncu" || !kernel.problem) continue;
    if (!is_observed(evidence, kernel.subject)) continue;
    const std::string key = kernel.subject + "|" + problem::to_text(*kernel.problem);
    const auto [slot, is_new] = calls.try_emplace(key, &kernel);
    if (is_new) {
      order.push_back(key);
    } else if (kernel.share_frac.value_or(0) > slot->second->share_frac.value_or(0)) {
      slot->second = &kernel;
    }
  }
  std::vector<Finding> findings;
  for (const std::string& key : order) findings.push_back(finding_of(*calls.at(key)));
  std::set<std::string> told;
  for (const measure::BlindSpot& spot : evidence.blind_spots) {
    if (spot.source != "ncu" || !is_observed(evidence, spot.subject)) continue;
    if (!told.insert(spot.subject).second) continue;
    Finding finding;
    finding.analysis = "profile";
    finding.statement =
        fmt::format("{}: profiler blocked mode: ncu saw nothing ({})", spot.subject, spot.reason);
    finding.figures = {{"subject", spot.subject}, {"blocked", true}};
    finding.events = spot.events;
    finding.unseen = "hit rates, bank conflicts, coalescing and achieved occupancy";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace wb::analyze
