// SPDX-License-Identifier: MIT
// Private to engine: `loops`, the loops of two variants (or families) beside each other. Reads
// only.
#pragma once

#include "engine/context.hpp"
#include "engine/verb.hpp"

namespace wb::engine {

VerbSpec loops_verb_spec();

/// Errors: usage (one of two is named); not_found; those of the catalogue and of the session.
Result<Json> verb_loops(Context& context, const Json& args);

}  // namespace wb::engine
