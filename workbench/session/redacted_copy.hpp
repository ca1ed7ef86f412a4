// SPDX-License-Identifier: MIT
// A session that was changed on purpose and says so: its log with every payload redacted and the
// chain made anew. It is for reading; whoever writes to sessions refuses it.
#pragma once

#include <map>
#include <string>

#include "session/redact.hpp"
#include "session/session.hpp"

namespace wb::session {

/// What replaces names of the original: blobs and pages have other hashes when their text changed.
struct NewHashes {
  std::map<std::string, std::string> blobs;  ///< old SHA-256 -> new
  std::map<std::string, std::string> pages;  ///< "0003.md" -> SHA-256
};

/// The text of the redacted log. session_opened gets {"redacted": {"log_head": of the original,
/// "events"}}. Errors: damaged; limit (a line that grew beyond 64 KiB).
Result<std::string> redacted_log(const EventLog& log, Redactor& redactor, const NewHashes& hashes);

/// A blob's new content. Arguments and results too large for a line are JSON and stay that: a name
/// after a line's end would begin with the 'n' of its escape.
std::string redacted_blob(std::string_view content, Redactor& redactor);

/// The identity file that belongs to a session_opened payload.
std::string identity_text(const Json& opened);

}  // namespace wb::session
