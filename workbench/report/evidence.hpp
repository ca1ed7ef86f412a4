// SPDX-License-Identifier: MIT
// Rebuilds evidence from a log, so that newer analyses run on older logs too. Used by the verb that
// analyzes a session.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "measure/finding.hpp"
#include "session/view.hpp"

namespace wb::report {

struct LogEvidence {
  measure::Evidence evidence;
  std::vector<std::string> gaps;  ///< facts of the log that the evidence lacks, and why
};

/// The confirmed times of incumbent and start under the objective's plan, those of the standing
/// rivals beside them, and kernels as compiler, profilers and recorded launches tell them. Each
/// observation cites the comparisons with its time. Held-out problems are left out until the
/// session is closed. Conditions of turns are not included.
LogEvidence log_evidence(const session::SessionView& view);

/// The evidence of one iteration: its candidate's times, won or lost, beside the rivals measured
/// with it. Selection times count if nothing was confirmed.
LogEvidence iteration_evidence(const session::SessionView& view,
                               const session::IterationView& iteration);

/// Adds the launches that the log has of what the evidence observes; where it observes nothing,
/// all.
void add_recorded_launches(const session::SessionView& view, measure::Evidence& evidence);

/// Adds profiles of these subjects in the order of the log's iterations, then those outside
/// iterations.
void add_profiles(const session::SessionView& view, const std::set<std::string>& subjects,
                  measure::Evidence& evidence);

}  // namespace wb::report
