// SPDX-License-Identifier: MIT
// Calls of verbs in a session's log: recorded with their answers, and answered from the log when a
// request is repeated or a playbook replayed. Such a playbook runs again from its first line: it
// gets answers from the log while its calls match, and runs live from the first call without one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/session.hpp"

namespace wb::engine {

struct Context;

/// SHA-256 of the canonical text of checked arguments.
std::string arguments_hash(const Json& args);

/// A recorded answer as the caller sees it: the result or the error.
Result<Json> replay_answer(const Json& answer);

/// Moves a member that is too large for a log line (64 KiB) to a blob: `<member>_blob` holds the
/// hash of the synced blob, and the member becomes null. For source files among arguments and pages
/// among answers.
Result<void> move_to_blob(session::Session& session, Json& payload, const std::string& member);
/// The payload with that member restored. Errors: those of the blob.
Result<Json> with_blob(const session::Session& session, Json payload, const std::string& member);

class Replay {
 public:
  Replay() = default;
  /// Keeps the answered calls of the playbook, in order, without those that a later --replan
  /// dropped. A call without an answer was in flight and runs again.
  static Result<Replay> from_log(const session::EventLog& log,
                                 const std::vector<session::VerbRecord>& records, bool replan);

  /// The recorded answer of the playbook's next call, or nothing when it must run live. Errors:
  /// invalid (the call differs from the recorded one and replan is off).
  Result<std::optional<Json>> next(std::string_view verb, const Json& checked_args);

  /// True while recorded answers remain; what the playbook prints meanwhile was logged before.
  [[nodiscard]] bool pending() const { return m_next < m_records.size(); }

  /// For the event of the next live call: the n from which the old plan was dropped, else null.
  Json take_dropped_from();

 private:
  std::vector<session::VerbRecord> m_records;
  std::size_t m_next = 0;
  bool m_replan = false;
  std::optional<std::int64_t> m_dropped_from;
};

/// A call inside a session; the references need to live as long as the call.
struct SessionCall {
  const std::string& verb;
  const Json& args;  ///< checked
  const std::optional<std::string>& request_id;
  bool in_playbook = false;
};

/// The calls of the session that a context holds.
class RecordedCalls {
 public:
  explicit RecordedCalls(Context& context) : m_context(context) {}

  Replay replay;

  /// The calls of `view`, the session that the context has taken, are followed by later ones.
  void follow(const session::SessionView& view);
  /// After the session was released.
  void forget();
  /// The first answer to a repeated request. Errors: usage (its call was another).
  Result<std::optional<Json>> answered_before(const std::string& request_id,
                                              const std::string& verb, const Json& args);
  /// Runs a call and records it with its answer, or answers a repeated request from the log. The
  /// call that closes the session releases it.
  Result<Json> run(const SessionCall& call, const std::function<Result<Json>()>& body);

 private:
  Context& m_context;
  std::int64_t m_next = 1;  ///< n of the next recorded call
};

}  // namespace wb::engine
