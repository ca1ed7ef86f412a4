// SPDX-License-Identifier: MIT
// The findings that decide causes: of the present analyses on a session's log, and what follows
// from a variant's stored manifest, its builds and its launch rule.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "advise/diagnosis.hpp"
#include "catalogue/launches.hpp"
#include "measure/finding.hpp"
#include "session/session.hpp"

namespace wb::verbs {

struct LogFindings {
  std::vector<measure::Finding> findings;
  std::vector<std::string> gaps;  ///< facts in the log that no finding shows
  measure::Evidence evidence;     ///< what the findings rest on
};
/// The present analyses' findings on the log, findings on builds, and those of probes, which were
/// taken outside iterations. A new session without rivals has no comparison; then the baseline's
/// recorded findings count.
LogFindings findings_of(const std::vector<catalogue::LaunchRule>& launches,
                        const session::Session& session, const session::SessionView& view);
/// Adds what follows from the target's stored manifest, configuration and launch rule; nothing
/// where the session does not have its sources.
void add_derived(const std::vector<catalogue::LaunchRule>& launches,
                 const session::Session& session, const session::SessionView& view,
                 const advise::Target& target, LogFindings& log);
/// Says of the evidence's subjects how they make f32 products and how many blocks their calls have,
/// by their stored manifests and launch rules.
void add_products(const std::vector<catalogue::LaunchRule>& launches,
                  const session::Session& session, const session::SessionView& view,
                  measure::Evidence& evidence);
/// Findings of the present analyses on one iteration's measurements and builds.
LogFindings iteration_findings(const std::vector<catalogue::LaunchRule>& launches,
                               const session::Session& session, const session::SessionView& view,
                               const session::IterationView& iteration);
/// The rivals of the log, with the comparisons in which each was timed.
std::map<std::string, std::vector<const session::Fact*>> timed_rivals(
    const session::SessionView& view);

}  // namespace wb::verbs
