// SPDX-License-Identifier: MIT
// The end of a session, for `close`, and for `dispatch adopt`, whose trials are sessions.
#pragma once

#include "engine/call.hpp"

namespace wb::verbs {

/// Causes, roadmap, report, last commit. `args`: of `close`. The context holds the session
/// afterwards, too. Errors: those of the catalogues, of the log and of the commit.
Result<Json> close_session(engine::Context& context, const Json& args);

}  // namespace wb::verbs
