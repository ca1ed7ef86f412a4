// SPDX-License-Identifier: MIT
// The cost of a call made from the host, beside the same call captured and replayed. If it is much
// longer, the host limits callers that do not capture.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/evidence.hpp"
#include "measure/finding.hpp"

namespace wb::analyze {

using measure::Finding;
using measure::Observation;
using measure::PlanKind;

std::vector<Finding> analyze_call_cost(const measure::Evidence& evidence);

namespace {

Finding finding_of(const Observation& eager, const Observation& hot) {
  const double eager_us = eager.measurement.median_us, hot_us = hot.measurement.median_us;
  Finding finding;
  finding.analysis = "call_cost";
  finding.problem = problem::label(eager.problem);
  finding.statement =
      fmt::format("{} on {}: {:.4g} us called from the host, {:.4g} us captured: {:.2f} times",
                  eager.subject, finding.problem, eager_us, hot_us, eager_us / hot_us);
  finding.figures = {{"subject", eager.subject},
                     {"plan", to_string(PlanKind::eager)},
                     {"eager_us", eager_us},
                     {"hot_us", hot_us},
                     {"eager_over_hot", eager_us / hot_us}};
  finding.events = hot.events;
  for (const std::int64_t event : eager.events) {
    const bool is_new =
        std::find(finding.events.begin(), finding.events.end(), event) == finding.events.end();
    if (is_new) finding.events.push_back(event);
  }
  finding.unseen =
      "what of the call the host spends where: in the caller, the driver or the launch";
  return finding;
}

}  // namespace

std::vector<Finding> analyze_call_cost(const measure::Evidence& evidence) {
  const auto key = [](const Observation& one) {
    return one.subject + "|" + problem::to_text(one.problem);
  };
  std::map<std::string, const Observation*> captured;
  for (const Observation& one : evidence.observations) {
    if (one.plan == PlanKind::hot && has_time(one)) captured.try_emplace(key(one), &one);
  }
  std::vector<Finding> findings;
  for (const Observation& one : evidence.observations) {
    if (one.plan != PlanKind::eager || !has_time(one)) continue;
    const auto hot = captured.find(key(one));
    if (hot != captured.end()) findings.push_back(finding_of(one, *hot->second));
  }
  return findings;
}

}  // namespace wb::analyze
