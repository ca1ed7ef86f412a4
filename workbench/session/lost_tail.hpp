// SPDX-License-Identifier: MIT
// Detects a log whose last lines are gone. Its chain is intact, so only the session's commits show
// the loss. Private to session.
#pragma once

#include <optional>
#include <string>

#include "core/json_fwd.hpp"
#include "session/log.hpp"
#include "session/repository.hpp"

namespace wb::session {

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
