// SPDX-License-Identifier: MIT
// Replay: a playbook that runs again from its first line gets answers from the log while its calls
// match, and runs live from the first call without one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "session/session.hpp"

namespace wb::engine {

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

}  // namespace wb::engine
