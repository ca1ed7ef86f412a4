// SPDX-License-Identifier: MIT
// A redacted copy of a session, marked as such: its log has redacted payloads and a new hash chain.
// It can only be read; verbs that write refuse it.
#pragma once

#include <map>
#include <string>

#include "core/json_fwd.hpp"
#include "session/redact.hpp"
#include "session/session.hpp"

namespace wb::session {

/// New names of changed content: redacted blobs and pages have other hashes.
struct NewHashes {
  std::map<std::string, std::string> blobs;  ///< old SHA-256 -> new
  std::map<std::string, std::string> pages;  ///< "0003.md" -> SHA-256
};

/// The redacted log. session_opened gets {"redacted": {"log_head": the original's, "events"}}.
/// Errors: damaged; limit (a line that grew beyond 64 KiB).
Result<std::string> redacted_log(const EventLog& log, Redactor& redactor, const NewHashes& hashes);

/// A blob's redacted content. JSON (arguments and results too large for a line) is redacted string
/// by string, because in its raw text a name after a line end would begin with the 'n' of the
/// escape.
std::string redacted_blob(std::string_view content, Redactor& redactor);

/// The content of session.json for a session_opened payload.
std::string identity_text(const Json& opened);

}  // namespace wb::session
