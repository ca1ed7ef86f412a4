// SPDX-License-Identifier: MIT
// Whether the GPU's SM clock differed between the two sides of a comparison, which alternate turns
// under the same load. That is no fault of the comparison, since a kernel that draws more power
// runs at a lower clock anywhere. But the speedup holds for these clocks, and will differ with
// fixed clocks or a higher power limit.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "analyze/evidence.hpp"
#include "measure/finding.hpp"

namespace wb::analyze {

using measure::Finding;
using measure::Observation;

std::vector<Finding> analyze_clocks(const measure::Evidence& evidence);

namespace {

/// One clock step is 15 MHz, below 1 % on a data center GPU; two steps are reported.
constexpr double k_clock_apart_frac = 0.02;

std::string reasons_text(const measure::GpuConditions& conditions) {
  if (!conditions.clocks_event_reasons) return "reasons unknown";
  std::string words;
  for (const std::string& reason : *conditions.clocks_event_reasons) {
    words += (words.empty() ? "" : ", ") + reason;
  }
  return words.empty() ? "nothing held it down" : words;
}

std::optional<Finding> clock_finding(const Observation& one, const Observation& other) {
  if (!one.conditions || !other.conditions) return std::nullopt;
  const auto& clock = one.conditions->sm_clock_mhz;
  const auto& other_clock = other.conditions->sm_clock_mhz;
  if (!clock || !other_clock || !(clock->mean > 0) || !(other_clock->mean > 0)) {
    return std::nullopt;
  }
  const double ratio = clock->mean / other_clock->mean;
  if (std::abs(ratio - 1) <= k_clock_apart_frac) return std::nullopt;
  Finding finding;
  finding.analysis = "clocks";
  finding.problem = problem::label(one.problem);
  finding.statement = fmt::format(
      "{} ({}): the SM clock was {:.0f} MHz in its turns ({}) and {:.0f} MHz in those of {} ({}): "
      "{:.1f} % {}",
      one.subject, to_string(one.plan), clock->mean, reasons_text(*one.conditions),
      other_clock->mean, other.subject, reasons_text(*other.conditions), 100 * std::abs(ratio - 1),
      ratio < 1 ? "lower" : "higher");
  finding.figures = {{"subject", one.subject},
                     {"beside", other.subject},
                     {"plan", to_string(one.plan)},
                     {"sm_clock_mhz", clock->mean},
                     {"beside_sm_clock_mhz", other_clock->mean},
                     {"clock_ratio", ratio}};
  finding.events = one.events;
  finding.unseen =
      "clocks are read between blocks, not while calls run; whether the subject itself or the "
      "machine moved the clock";
  return finding;
}

}  // namespace

std::vector<Finding> analyze_clocks(const measure::Evidence& evidence) {
  std::vector<Finding> findings;
  for (const Observation& one : evidence.observations) {
    std::set<std::string> told;  // the same code may appear twice
    for (const Observation& other : evidence.beside) {
      if (other.plan != one.plan ||
          problem::to_text(other.problem) != problem::to_text(one.problem))
        continue;
      if (other.subject == one.subject) continue;
      if (!told.insert(other.subject).second) continue;
      if (auto finding = clock_finding(one, other)) findings.push_back(*std::move(finding));
    }
  }
  return findings;
}

}  // namespace wb::analyze
