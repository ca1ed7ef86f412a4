// SPDX-License-Identifier: MIT
// A log whose last lines are gone is whole by its chain: only its commits know better. Private to
// session.
#pragma once

#include <optional>
#include <string>

#include "session/log.hpp"
#include "session/repository.hpp"

namespace wb::session {

/// What the commits of a session have and its log has not.
struct LostTail {
  std::int64_t last_seq = 0;  ///< where the log ends now
  std::string oid;            ///< the newest commit that was made from a line that is gone
  std::string known_oid;      ///< the newest one whose line is there; may be empty
  std::string missing;        ///< which events, in words
  bool has_log = false;       ///< that commit holds the whole log (it closed the session)
  bool on_users_branch = false;
};

/// Reads the repository that `opened`, the payload of session_opened, speaks of. Nothing when the
/// commits and the log agree, or there is no repository that can be read: what is wrong with that
/// is told where commits are made. With `from` its history is looked at from that commit on.
std::optional<LostTail> find_lost_tail(const EventLog& log, const fs::path& folder,
                                       const Json& opened, const std::string& from = {});

/// One sentence each: what is missing, and what to do.
std::string cause_of(const LostTail& lost);
std::string advice_on(const LostTail& lost, const fs::path& folder);

}  // namespace wb::session
