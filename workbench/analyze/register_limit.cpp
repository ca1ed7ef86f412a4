// SPDX-License-Identifier: MIT
// The register limit: the most warps of each compiled kernel that an SM can hold for any block
// size. An upper bound of occupancy, from ptxas' records. Few warps are no fault by themselves
// (matrix-unit kernels are built so), only if latency is not hidden.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyze/evidence_view.hpp"
#include "analyze/occupancy.hpp"
#include "measure/finding.hpp"

namespace wb::analyze {

using measure::Finding;

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
