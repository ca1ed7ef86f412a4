// SPDX-License-Identifier: MIT
// A session's log as the situation that a roadmap is made for.
#pragma once

#include "advise/roadmap.hpp"
#include "engine/call.hpp"

namespace wb::verbs {

/// From the log and the stored sources alone. Held-out problems are no part of it: nobody may tune
/// on those. Errors: those of reading the session; invalid before the baseline closed.
Result<advise::Situation> situation_of(const session::Session& session,
                                       const session::SessionView& view);

/// A roadmap as JSON (advise/roadmap.hpp), with `incumbent`. Errors: those of the catalogue and of
/// situation_of().
Result<Json> roadmap_json(const engine::Services& services, const session::Session& session,
                          double target_ratio);

/// Appends roadmap_made to the held session, where it has a baseline. A catalogue that is not there
/// or broken costs no session its end: a note then says why there is none.
Result<void> record_roadmap(engine::Context& context);

}  // namespace wb::verbs
