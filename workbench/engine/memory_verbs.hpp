// SPDX-License-Identifier: MIT
// Private to engine: the verbs around sessions rather than inside one. They start a kernel folder,
// remind a mind that lost its context, compare and repeat recorded sessions, and tidy up. None of
// them writes to a session.
#pragma once

#include <vector>

#include "engine/context.hpp"
#include "engine/verb.hpp"

namespace wb::engine {

/// Their entries in the verb table.
std::vector<VerbSpec> memory_verb_specs();

/// `session` may be empty: then `from` is a kernel's name.
Result<Json> verb_new(Context& context, const Json& args, const fs::path& session);
Result<Json> verb_brief(const session::Session& session);
Result<Json> verb_history(const session::Session& session, const Json& args);
Result<Json> verb_diff(const Services& services, const Json& args);
Result<Json> verb_gc(Context& context, const Json& args);
Result<Json> verb_best(Context& context, const Json& args);
/// The context must hold no session: nothing is logged.
Result<Json> verb_reproduce(Context& context, const Json& args);

/// A brief is at most this many bytes of JSON, and of text.
inline constexpr std::size_t k_brief_max_bytes = 4096;

}  // namespace wb::engine
