// SPDX-License-Identifier: MIT
// A launch's grid in CUDA notation beside the one that batch and heads suggest, as a printf in the
// kernel would show; here a tool saw the launch. A grid with fewer blocks than heads is no fault by
// itself (persistent blocks handle several heads); it is one while SMs have no block.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analyze/evidence.hpp"
#include "core/json.hpp"

namespace wb::analyze {

using measure::Finding;
using measure::KernelFacts;
using measure::Observation;
using problem::Problem;

std::vector<Finding> analyze_grid_check(const measure::Evidence& evidence);

namespace {

struct Launch {
  const Observation* observation = nullptr;
  const KernelFacts* kernel = nullptr;
};

/// Frozen words of the finding's `verdict`.
std::string_view verdict_of(const Problem& problem, std::int64_t blocks, std::int64_t units) {
  const std::int64_t heads = problem.B * problem.Hq, pairs = problem.B * problem.Hkv;
  if (blocks >= heads) return blocks % heads == 0 ? "full" : "uneven";
  if (pairs < heads && blocks >= pairs && blocks % pairs == 0) return "grouped";
  return blocks >= units ? "persistent" : "misses_heads";
}

std::string verdict_words(std::string_view verdict, const Problem& problem, std::int64_t blocks,
                          const device::Device& device) {
  const std::int64_t heads = problem.B * problem.Hq, pairs = problem.B * problem.Hkv;
  if (verdict == "full") {
    return fmt::format("as expected, {} for each head of the batch", blocks / heads);
  }
  if (verdict == "uneven") {
    return "no multiple of the heads: blocks take work from a list, or some have none";
  }
  if (verdict == "grouped") {
    return fmt::format("{} for each of {} key heads, which serves their query heads together",
                       blocks / pairs, pairs);
  }
  if (verdict == "persistent") {
    return fmt::format(
        "fewer than heads, but none of the {} {} is without one: blocks take heads "
        "in turns",
        device.units, unit_word(device));
  }
  return fmt::format(
      "fewer than heads while {} of {} {} have none: heads wait for each other, the "
      "grid misses batch or heads",
      device.units - blocks, device.units, unit_word(device));
}

Finding finding_of(const device::Device& device, std::string_view verdict,
                   const std::vector<Launch>& launches) {
  const Observation& first = *launches.front().observation;
  const KernelFacts& kernel = *launches.front().kernel;
  const std::int64_t heads = first.problem.B * first.problem.Hq;
  Finding finding;
  finding.analysis = "grid_check";
  finding.problem = problem::label(first.problem);
  finding.statement = fmt::format(
      "{} on {}: Grid: {}, Block: {}: {} block{}; expected n x {} (B x Hq), n at least 1: {}",
      first.subject, finding.problem, kernel.grid, kernel.block.empty() ? "?" : kernel.block,
      *kernel.blocks, *kernel.blocks == 1 ? "" : "s", heads,
      verdict_words(verdict, first.problem, *kernel.blocks, device));
  if (launches.size() > 1) {
    finding.statement += fmt::format("; the like on {} more problem{}", launches.size() - 1,
                                     launches.size() == 2 ? "" : "s");
  }
  Json seen = Json::array();
  for (const Launch& launch : launches) {
    const Problem& problem = launch.observation->problem;
    seen.push_back({{"problem", problem::label(problem)},
                    {"grid", launch.kernel->grid},
                    {"block", launch.kernel->block},
                    {"blocks", *launch.kernel->blocks},
                    {"heads", problem.B * problem.Hq}});
    finding.events.insert(finding.events.end(), launch.kernel->events.begin(),
                          launch.kernel->events.end());
  }
  std::sort(finding.events.begin(), finding.events.end());
  finding.events.erase(std::unique(finding.events.begin(), finding.events.end()),
                       finding.events.end());
  finding.figures = {{"subject", first.subject},   {"kernel", kernel.kernel},
                     {"source", kernel.source},    {"verdict", verdict},
                     {"blocks", *kernel.blocks},   {"expected_multiple_of", heads},
                     {"launches", std::move(seen)}};
  finding.unseen =
      "which head a block takes, and whether this kernel (the longest of the call) does the "
      "products";
  return finding;
}

}  // namespace

std::vector<Finding> analyze_grid_check(const measure::Evidence& evidence) {
  if (evidence.device.backend != "cuda" || evidence.device.units <= 0) return {};
  // Equal launches of a subject form one finding.
  std::vector<std::pair<std::string, std::string>> order;
  std::map<std::pair<std::string, std::string>, std::vector<Launch>> by_verdict;
  std::map<std::pair<std::string, std::string>, bool> told;
  std::vector<Observation> untimed;  // for a profile without timing
  if (evidence.observations.empty()) {
    for (const KernelFacts& kernel : evidence.kernels) {
      if (!kernel.problem || !kernel.blocks) continue;
      Observation& call = untimed.emplace_back();
      call.problem = *kernel.problem;
      call.subject = kernel.subject;
    }
  }
  for (const Observation& observation : untimed.empty() ? evidence.observations : untimed) {
    if (untimed.empty() && !has_time(observation)) continue;
    const KernelFacts* kernel = main_launch(evidence, observation);
    if (kernel == nullptr || kernel->grid.empty()) continue;
    bool& is_told = told[{observation.subject, problem::to_text(observation.problem)}];
    if (std::exchange(is_told, true)) continue;
    const auto key = std::pair(
        observation.subject,
        std::string(verdict_of(observation.problem, *kernel->blocks, evidence.device.units)));
    if (!by_verdict.contains(key)) order.push_back(key);
    by_verdict[key].push_back({&observation, kernel});
  }
  std::vector<Finding> findings;
  for (const auto& key : order) {
    findings.push_back(finding_of(evidence.device, key.second, by_verdict.at(key)));
  }
  return findings;
}

}  // namespace wb::analyze
