// SPDX-License-Identifier: MIT
// Redaction: replaces text that identifies a person or a machine, always by the same word for the
// same original ("redacted-path-3"), so that relations are preserved. A redacted copy of a session
// is marked as such: its log has redacted payloads and a new hash chain. It can only be read; verbs
// that write refuse it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/log.hpp"

namespace wb::session {

class Redactor {
 public:
  /// Learns from a log the names that no pattern recognizes: authors, the host behind the
  /// transport, users in home paths. Never learns a key of the log's objects, whose replacement
  /// would break the log. Errors: damaged.
  Result<void> learn(const EventLog& log);
  /// Learns users in home paths of another text (a blob).
  void learn_homes(std::string_view text);

  /// Replaces absolute paths, e-mail addresses, user@host, URLs, IPv4, IPv6 and hardware addresses,
  /// GPU board ids and learned names, which match as whole words in any letter case.
  std::string text(std::string_view words);
  /// Redacts all strings of a value, keys included.
  Json json(const Json& value);
  /// The replacement for a field that consists of one such item, however short or common; empty for
  /// empty.
  std::string whole(std::string_view kind, std::string_view original);

  /// Number of replacements by kind: "path", "email", "host", "user", "url".
  [[nodiscard]] const std::map<std::string, std::int64_t>& counts() const { return m_counts; }

 private:
  void learn_keys(const Json& value);
  void learn_transport(const std::string& transport);
  void learn_word(std::string_view kind, const std::string& word);
  std::size_t match_learned(std::string_view text, std::size_t at, std::string_view& kind) const;

  std::map<std::string, std::string, std::less<>> m_learned;  ///< lower case -> kind
  std::set<std::string> m_keys;                               ///< lower case; never learned
  std::map<std::string, std::string, std::less<>> m_words;    ///< kind + original -> replacement
  std::map<std::string, std::int64_t> m_numbers, m_counts;
};

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
