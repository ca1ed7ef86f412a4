// SPDX-License-Identifier: MIT
// Engine: the entry point of every front end (command line, Lua, Python, tools). It records calls,
// runs the bodies of its table, and answers from the log on replay.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"

namespace wb::session {
class Session;
}

namespace wb::engine {

struct Context;
struct Services;
class Engine;

/// Answers one call of a verb. `args` were checked; `folder` is that of the named session, empty
/// without one. If the verb writes, the engine's context holds the session.
using VerbBody = std::function<Result<Json>(Engine& engine, const Json& args,
                                            const fs::path& folder, bool in_playbook)>;

/// What the engine knows of a verb; verbs::runnable() makes it of the table. The words must outlive
/// every engine.
struct RunnableVerb {
  std::string_view name;
  /// Checks and completes the arguments of one call. Errors: usage.
  std::function<Result<Json>(const Json& args)> check;
  VerbBody body;  ///< empty: a higher module registers it (Engine::register_body)
  // When the session is held for the call: always, where one is named, or where a flag is given.
  bool writes = false;
  bool writes_if_named = false;
  std::string_view writes_if = {};
  bool only_logs = false;   ///< writes also where nothing can be measured any more
  bool reads_only = false;  ///< a call is not recorded
  bool in_playbook = true;  ///< offered to playbooks
};
using VerbTable = std::vector<RunnableVerb>;

/// True for errors of the environment rather than of the call (a stop, a full disk, a lock): the
/// call gets no answer in the log and runs again at resume, and a playbook ends.
bool ends_session(ErrorCode code);

class Engine {
 public:
  /// `verbs`: the callable verbs with their bodies.
  Engine(Services services, VerbTable verbs);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Runs one verb. `session` is the folder, for verbs that need one; ignored while this engine
  /// holds a session. A call inside a session is recorded unless it only reads. Errors: those of
  /// the verb; usage for unknown verbs and arguments; canceled after a stop.
  Result<Json> call(std::string_view verb, const Json& args, const fs::path& session = {},
                    std::optional<std::string> request_id = {});

  /// Sets the body of a verb that is implemented in a higher module. Throws std::logic_error for an
  /// unknown verb.
  void register_body(std::string_view verb, VerbBody body);

  // For the playbook host. All need a session that this engine holds.

  /// Called once by the next `open`, when the log exists and before the baseline runs.
  void on_opened(std::function<Result<void>()> hook);
  /// Opens a session for writing and finishes interrupted work: abandons the iteration in flight,
  /// and runs the baseline again if it never closed. Appends session_resumed. Returns the number of
  /// abandoned iterations (0 or 1).
  Result<std::int64_t> resume_session(const fs::path& folder);
  /// Logs playbook_started and starts recording at call 1; with records in the log, replay begins.
  /// Errors: invalid (the playbook or its arguments changed and `replan` is false).
  Result<void> start_playbook(std::string_view path, std::string_view source, const Json& args,
                              std::uint64_t seed, bool replan);
  /// A playbook's call: answered from the log while (n, verb, arguments) match, else run. Every
  /// verb is recorded, including those that only read. Errors: as call(); invalid (mismatch without
  /// replan).
  Result<Json> playbook_call(std::string_view verb, const Json& args);
  /// True while the playbook's calls are answered from the log.
  [[nodiscard]] bool replaying() const;
  /// The playbook_started payload of the held session, for resume.
  [[nodiscard]] Result<std::optional<Json>> recorded_playbook() const;

  [[nodiscard]] const session::Session* session() const;
  [[nodiscard]] const Services& services() const;
  /// The state that the stages share, for modules beside the verbs (tune::evaluate).
  [[nodiscard]] Context& context();
  /// Ends the running work: closes an open iteration as abandoned, appends session_paused, releases
  /// the lock and the worker.
  Result<void> pause(std::string_view reason);

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace wb::engine
