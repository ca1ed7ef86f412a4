// SPDX-License-Identifier: MIT
#include "analyze/occupancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analyze/evidence.hpp"
#include "core/ascii.hpp"
#include "measure/finding.hpp"

namespace wb::analyze {
namespace {

constexpr std::int64_t k_kib = 1'024;
constexpr std::int64_t k_schedulers = 4;
constexpr std::int64_t k_register_unit = 256;  // allocation unit of a warp's registers
constexpr std::int64_t k_shared_unit = 128;    // bytes
constexpr std::int64_t k_max_registers = 255;

constexpr std::array<SmLimits, 7> k_limits{{
    {"sm_80", 64, 32, 164 * k_kib},
    {"sm_86", 48, 16, 100 * k_kib},
    {"sm_87", 48, 16, 164 * k_kib},
    {"sm_89", 48, 24, 100 * k_kib},
    {"sm_90", 64, 32, 228 * k_kib},
    {"sm_100", 64, 32, 228 * k_kib},
    {"sm_120", 48, 24, 100 * k_kib},
}};

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Number of warps for which one scheduler has registers.
std::int64_t warps_of_scheduler(std::int64_t registers) {
  const std::int64_t of_warp = rounded_up(registers * k_warp_threads, k_register_unit);
  return k_sm_registers / k_schedulers / of_warp;
}

}  // namespace

std::optional<SmLimits> sm_limits(std::string_view architecture) {
  // "sm_90a" has additional features and the resources of sm_90.
  if (!architecture.empty() && ascii::is_alpha(architecture.back())) {
    architecture.remove_suffix(1);
  }
  for (const SmLimits& limits : k_limits) {
    if (limits.architecture == architecture) return limits;
  }
  return std::nullopt;
}

std::optional<Occupancy> occupancy(const SmLimits& limits, const BlockDemand& demand) {
  if (demand.threads < 1 || demand.threads > k_max_block_threads || demand.registers < 1 ||
      demand.registers > k_max_registers || demand.shared_bytes < 0) {
    return std::nullopt;
  }
  const std::int64_t warps = rounded_up(demand.threads, k_warp_threads) / k_warp_threads;
  // A block's warps are distributed over the schedulers, so its registers must fit with that
  // rounding.
  const bool registers_fit = rounded_up(warps, k_schedulers) *
                                 rounded_up(demand.registers * k_warp_threads, k_register_unit) <=
                             k_sm_registers;
  const std::int64_t by_registers =
      registers_fit ? warps_of_scheduler(demand.registers) * k_schedulers / warps : 0;
  const std::int64_t shared =
      rounded_up(demand.shared_bytes + k_reserved_shared_bytes, k_shared_unit);
  const std::int64_t by_shared = limits.shared_bytes / shared;
  const std::int64_t by_warps = limits.warps / warps;
  Occupancy result;
  result.blocks = std::min({by_registers, by_shared, by_warps, std::int64_t{limits.blocks}});
  result.warps = result.blocks * warps;
  result.frac = static_cast<double>(result.warps) / limits.warps;
  // Of equal limits, the one that code cannot change is named.
  result.limited_by = result.blocks == by_warps        ? "warps"
                      : result.blocks == limits.blocks ? "blocks"
                      : result.blocks == by_shared     ? "shared memory"
                                                       : "registers";
  return result;
}

std::int64_t most_warps(const SmLimits& limits, std::int64_t registers) {
  if (registers < 1 || registers > k_max_registers) return 0;
  return std::min(std::int64_t{limits.warps}, warps_of_scheduler(registers) * k_schedulers);
}

using measure::Finding;

// The register limit: the most warps of each compiled kernel that an SM can hold for any block
// size. An upper bound of occupancy, from ptxas' records. Few warps are no fault by themselves
// (matrix-unit kernels are built so), only if latency is not hidden.
std::vector<Finding> analyze_register_limit(const measure::Evidence& evidence);

namespace {

struct Limited {
  const measure::KernelFacts* kernel = nullptr;
  std::int64_t warps = 0;
};

Finding finding_of(const std::string& subject, std::vector<Limited> kernels,
                   const SmLimits& limits) {
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Limited& a, const Limited& b) { return a.warps < b.warps; });
  const Limited& least = kernels.front();
  const Limited& most = kernels.back();
  Finding finding;
  finding.analysis = "register_limit";
  finding.statement = fmt::format(
      "{}: {} registers a thread let an SM hold at most {} of {} warps of {} ({:.0f} % occupancy, "
      "whatever the block){}",
      subject, *least.kernel->registers, least.warps, limits.warps, least.kernel->kernel,
      100.0 * static_cast<double>(least.warps) / limits.warps,
      kernels.size() == 1
          ? ""
          : fmt::format("; of its other {} kernels up to {}", kernels.size() - 1, most.warps));
  finding.figures = {{"subject", subject},
                     {"kernel", least.kernel->kernel},
                     {"registers", *least.kernel->registers},
                     {"most_warps", least.warps},
                     {"sm_warps", limits.warps},
                     {"most_occupancy_frac", static_cast<double>(least.warps) / limits.warps},
                     {"kernels", kernels.size()},
                     {"architecture", limits.architecture}};
  std::set<std::int64_t> events;
  for (const Limited& kernel : kernels) {
    events.insert(kernel.kernel->events.begin(), kernel.kernel->events.end());
  }
  finding.events.assign(events.begin(), events.end());
  finding.unseen =
      "which of the kernels a problem launches, in blocks of what size, and the shared "
      "memory that a launch asks for: they may allow fewer";
  return finding;
}

}  // namespace

std::vector<Finding> analyze_register_limit(const measure::Evidence& evidence) {
  const auto limits = sm_limits(evidence.device.architecture);
  if (!limits) return {};
  std::vector<std::string> order;
  std::map<std::string, std::vector<Limited>> subjects;
  for (const measure::KernelFacts& kernel : evidence.kernels) {
    if (kernel.source != "ptxas" || !kernel.registers) continue;
    if (!is_observed(evidence, kernel.subject)) continue;
    const std::int64_t warps = most_warps(*limits, *kernel.registers);
    if (warps == 0) continue;
    if (!subjects.contains(kernel.subject)) order.push_back(kernel.subject);
    subjects[kernel.subject].push_back({&kernel, warps});
  }
  std::vector<Finding> findings;
  for (const std::string& subject : order) {
    const auto& kernels = subjects.at(subject);
    const bool is_limited = std::any_of(kernels.begin(), kernels.end(), [&](const Limited& one) {
      return one.warps < limits->warps;
    });
    if (is_limited) findings.push_back(finding_of(subject, kernels, *limits));
  }
  return findings;
}

}  // namespace wb::analyze
