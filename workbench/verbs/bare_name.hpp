// SPDX-License-Identifier: MIT
// What a kernel's bare name means inside a session, for verbs that look at what is there.
#pragma once

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::engine {
struct Context;
}

namespace wb::verbs {

/// The arguments, in which a bare name at `key` is replaced by the label of the session's best
/// confirmed variant of that name (outcome::Outcome::find), so that sources and configuration are
/// those that won. They stay as they are without a session, for labels, with a configuration of the
/// caller's, and where the sources on disk are none that an iteration of the session tried: then
/// these are meant, as somebody is working on them. Errors: those of the log.
Result<Json> with_best_variant(engine::Context& context, Json args, const char* key);

}  // namespace wb::verbs
