// SPDX-License-Identifier: MIT
// Makes the contents of the session's commits from the log alone, so that a commit can be made
// again with the same oid. Payloads may come from a faulty program, and every log that folds must
// be committable, so they are read forgivingly. Private to Session.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "session/log.hpp"
#include "session/repository.hpp"
#include "session/view.hpp"

namespace wb::session {

/// Seconds since 1970 of "2026-11-20T18:03:22.123Z"; nothing when malformed.
std::optional<std::int64_t> seconds_of_iso8601(std::string_view text);

Json to_json(const Signature& signature);
/// Nothing when it is missing or its name or address is empty.
std::optional<Signature> signature_from_json(const Json& json);
/// Author and committer of this session's commits. The committer is the author unless the session
/// names one.
Signature author_of(const SessionView& view);
Signature committer_of(const SessionView& view);

CommitSpec root_commit(const EventLog& log, const SessionView& view, std::string identity_text);
/// Made from the payload of iteration_closed.
CommitSpec iteration_commit(const EventLog& log, const SessionView& view, const Fact& closed,
                            std::map<std::string, std::string> files);
CommitSpec closing_commit(const EventLog& log, const SessionView& view,
                          std::map<std::string, std::string> reports);

// A log whose last lines are gone: its chain is intact, so only the session's commits show it.

/// What the session's commits prove and the log lacks.
struct LostTail {
  std::int64_t last_seq = 0;  ///< seq of the log's present end
  std::string oid;            ///< the newest commit made from a lost line
  std::string known_oid;      ///< the newest commit whose line is still there; may be empty
  std::string missing;        ///< the lost events, in words
  bool has_log = false;  ///< true when commit `oid` holds the whole log (it closed the session)
  bool on_users_branch = false;
};

/// Compares the log with the repository named in `opened`, the payload of session_opened. Nothing
/// when they agree or no repository can be read; the code that commits reports an unreadable
/// repository. With `from`, the history is searched from that commit on.
std::optional<LostTail> find_lost_tail(const EventLog& log, const fs::path& folder,
                                       const Json& opened, const std::string& from = {});

/// Each is one sentence: what is missing, and what to do.
std::string cause_of(const LostTail& lost);
std::string advice_on(const LostTail& lost, const fs::path& folder);

}  // namespace wb::session
