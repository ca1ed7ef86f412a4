// SPDX-License-Identifier: MIT
// A session of equal steps that can be gone on with wherever it was cut: what a playbook does after
// a resume, without an engine. A step is five events: a note that names a blob, and an iteration
// that is opened, built, closed and committed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "unit/session/example_session.hpp"

namespace wb::testing {

inline constexpr int k_events_of_a_step = 5;

/// Runs the steps that are missing up to `steps`, in a new or an existing session.
Result<void> run_steps(FileSystem& files, FakeClock& clock, const fs::path& folder, int steps,
                       const OnStep& on_step = {});

/// Closes the session, with a report.
Result<void> close_steps(FileSystem& files, FakeClock& clock, const fs::path& folder);

/// What the log says, one line an event, without what may differ after a kill: times, commit ids,
/// and the remarks of a recovery.
std::vector<std::string> story_of(const session::Session& session);

/// The first fault of the session's state: an iteration that is closed and not committed or the
/// reverse, a commit twice, a commit without its pages, a blob that is gone. Empty: none.
std::string fault_of(const session::Session& session);

}  // namespace wb::testing
