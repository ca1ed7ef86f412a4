// SPDX-License-Identifier: MIT
// From a log back to evidence: what the analyses may look at once a session was recorded, so that
// newer analyses run on older logs too. Who calls: the verb that analyzes a session.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "measure/finding.hpp"
#include "session/view.hpp"

namespace wb::report {

struct LogEvidence {
  measure::Evidence evidence;
  std::vector<std::string> gaps;  ///< what the log has and this does not show, with why
};

/// The incumbent's and the start's confirmed times under the objective's plan and, beside them,
/// those of the rivals that stand; kernels as compiler and profilers told of them. Each observation
/// rests on the comparisons that hold its time. Problems that are held out are left out until the
/// session is closed. The conditions of the turns are not in it.
LogEvidence log_evidence(const session::SessionView& view);

/// The same of one iteration: what its candidate took, won or lost, beside the rivals that were
/// measured with it. Times of the selection count where nothing was confirmed.
LogEvidence iteration_evidence(const session::SessionView& view,
                               const session::IterationView& iteration);

/// What tools saw of these subjects, in the order of the log's iterations, then outside of them.
void add_profiles(const session::SessionView& view, const std::set<std::string>& subjects,
                  measure::Evidence& evidence);

}  // namespace wb::report
