// SPDX-License-Identifier: MIT
// Closes a session, for `close` and for `dispatch adopt`, whose trials are sessions.
#pragma once

#include "core/json_fwd.hpp"
#include "engine/verb.hpp"

namespace wb::verbs {

/// Records causes, roadmap and report and makes the last commit. `args`: those of `close`. The
/// context still holds the session afterwards. Errors: those of the catalogues, of the log and of
/// the commit.
Result<Json> close_session(engine::Context& context, const Json& args);

}  // namespace wb::verbs
