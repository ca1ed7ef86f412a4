// SPDX-License-Identifier: MIT
// Reads a session's log as the situation that a roadmap is made for.
#pragma once

#include "advise/roadmap.hpp"
#include "core/json_fwd.hpp"
#include "engine/verb.hpp"
#include "session/session.hpp"

namespace wb::verbs {

/// Uses only the log and the stored sources, without held-out problems, so that nobody tunes on
/// them. Errors: those of reading the session; invalid before the baseline closed.
Result<advise::Situation> situation_of(const session::Session& session,
                                       const session::SessionView& view);

/// A roadmap as JSON (advise/roadmap.hpp), with `incumbent`. Errors: those of the catalogue and of
/// situation_of().
Result<Json> roadmap_json(const engine::Services& services, const session::Session& session,
                          double target_ratio);

/// Appends roadmap_made to the held session if it has a baseline. With a missing or broken
/// catalogue it appends a note with the reason instead, so that the session can still close.
Result<void> record_roadmap(engine::Context& context);

}  // namespace wb::verbs
