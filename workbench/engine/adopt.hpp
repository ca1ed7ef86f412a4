// SPDX-License-Identifier: MIT
// Private to engine: `dispatch adopt`. A shipped rule was proved on one device by one compiler;
// what another compiler makes of the same sources was judged by nobody. This builds, judges and
// times it here, once, in a session below the user's data folder, where `best` finds it.
#pragma once

#include <functional>

#include "engine/context.hpp"
#include "engine/verb.hpp"

namespace wb::engine {

VerbSpec adopt_verb_spec();

/// Closes the session that the context holds, with that reason.
using CloseSession = std::function<Result<Json>(const std::string& reason)>;

/// Errors: usage (a session is held, no data folder), those of problems and rules; environment (the
/// machine could not measure: nothing is held against the rule), io, canceled. What the variant
/// itself fails by is an outcome.
Result<Json> verb_dispatch_adopt(Context& context, const Json& args, const CloseSession& close);

}  // namespace wb::engine
