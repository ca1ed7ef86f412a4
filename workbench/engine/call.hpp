// SPDX-License-Identifier: MIT
// One call of a verb as its body sees it, and the table of verbs that an engine runs. The module
// verbs makes the table; the engine itself knows only the verb that closes a session.
#pragma once

#include <functional>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "engine/verb.hpp"
#include "session/session.hpp"

namespace wb::engine {

struct Context;
struct Services;
class Engine;

struct Call {
  Engine& engine;  ///< for bodies that call other verbs
  Context& context;
  const Services& services;  ///< the context's; for bodies that need no context.hpp
  const Json& args;          ///< checked by check_arguments()
  const fs::path& folder;    ///< folder of the named session; empty without one
  bool in_playbook = false;
};

/// Answers one call. If the spec says that the verb writes, the context holds the session.
using Body = std::function<Result<Json>(const Call&)>;

struct RunnableVerb {
  const VerbSpec* spec;  ///< must outlive every engine
  Body body;             ///< empty: a higher module registers it (Engine::register_body)
};
using VerbTable = std::vector<RunnableVerb>;

/// The session that a verb reads: the held one, else the named one; valid until the next call.
/// Errors: usage (neither), those of Session::open_reader.
Result<const session::Session*> session_to_read(const Call& call);
/// The folder of that session. Errors: usage (neither).
Result<fs::path> folder_to_read(const Call& call);

}  // namespace wb::engine
