// SPDX-License-Identifier: MIT
// Engine: owns the order of the stages. Every skin (command line, Lua, Python, tools) calls verbs
// here; the engine records them, runs them and answers from the log on replay.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "engine/progress.hpp"
#include "engine/verb.hpp"
#include "runner/worker_client.hpp"
#include "session/session.hpp"
#include "variant/builder.hpp"

namespace wb::engine {

/// What the engine works with; the command line fills it, tests put fakes in.
struct Services {
  FileSystem& file_system;
  const Clock& clock;
  variant::SearchPath search_path;
  fs::path cache_root;
  fs::path sessions_root = "sessions";
  fs::path data_root = {};  ///< the user's data: adopted sessions; empty: none are kept
  std::shared_ptr<const variant::Toolchain> toolchain;  ///< of backend cpu
  std::shared_ptr<const variant::Toolchain> cuda_toolchain =
      nullptr;  ///< of backend cuda; may be null
  variant::BuildOptions build_options;
  /// Starts a worker and opens its wire. Called when a verb first needs one.
  std::function<Result<std::unique_ptr<runner::Transport>>()> open_transport;
  protocol::HelloArgs hello;  ///< its gpu counts where a session or variant wants one
  ProgressSink progress;      ///< may be empty
  /// Told of wins, failures, shares of the budget and the end, between measurements; may be empty.
  std::function<void(const Json&)> on_milestone;
  /// What only the program around the engine can do (AskProgram, program.hpp); may be empty.
  std::function<Result<Json>(const Json&)> ask_program = nullptr;
  const std::atomic<bool>* stop_requested = nullptr;  ///< set by SIGTERM, SIGHUP, SIGINT
  std::string workbench_version;
  /// Of the drawn runs of verdicts, for tests. None: the kernel's random numbers, as it must be
  /// wherever a variant is judged that has a reason to guess.
  std::optional<std::uint64_t> edge_key = {};
};

/// Errors of the place, not of the call (a stop, a full disk, a lock): the call stays without an
/// answer in the log and runs again at resume, and a playbook ends.
bool ends_session(ErrorCode code);

class Engine {
 public:
  explicit Engine(Services services);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Runs one verb. `session` is the folder for verbs that need one; ignored when this engine
  /// already holds a session. A call inside a session is recorded unless it only reads.
  /// Errors: those of the verb; usage for unknown verbs and arguments; canceled after a stop.
  Result<Json> call(std::string_view verb, const Json& args, const fs::path& session = {},
                    std::optional<std::string> request_id = {});

  /// The body of a verb whose floor is above this one (`run`, `resume`, `playbook_check`).
  using Body = std::function<Result<Json>(Engine&, const Json& args, const fs::path& session)>;
  void register_body(std::string_view verb, Body body);

  /// One question of a search that another process owns, answered on this one's device
  /// (evaluation_exchange.hpp has the format). Keeps nothing. Errors: usage (a session is held),
  /// parse, invalid (no such request), environment (another device or version than asked for),
  /// those of the log; canceled.
  Result<Json> evaluate(const Json& request);

  // For the playbook host. All need a session that this engine holds.

  /// Called once, by the next `open`, when the log exists and before the baseline runs.
  void on_opened(std::function<Result<void>()> hook);
  /// Opens a session for writing and finishes what a crash left: abandons the iteration in flight,
  /// runs the baseline again when it never closed. Appends session_resumed. Returns how many
  /// iterations were abandoned (0 or 1).
  Result<std::int64_t> resume_session(const fs::path& folder);
  /// Logs playbook_started and starts recording at call 1; with records in the log, replay begins.
  /// Errors: invalid (the playbook or its arguments changed and `replan` is false).
  Result<void> start_playbook(std::string_view path, std::string_view source, const Json& args,
                              std::uint64_t seed, bool replan);
  /// A playbook's call: answered from the log while (n, verb, arguments) match, else live. Every
  /// verb is recorded, reading ones too. Errors: as call(); invalid (mismatch without replan).
  Result<Json> playbook_call(std::string_view verb, const Json& args);
  /// True while the playbook's calls are answered from the log.
  [[nodiscard]] bool replaying() const;
  /// The playbook_started payload of the held session, for resume.
  [[nodiscard]] Result<std::optional<Json>> recorded_playbook() const;

  [[nodiscard]] const session::Session* session() const;
  [[nodiscard]] const Services& services() const;
  /// Ends what runs: an open iteration is closed as abandoned, session_paused appended, the lock
  /// and the worker released.
  Result<void> pause(std::string_view reason);

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace wb::engine
