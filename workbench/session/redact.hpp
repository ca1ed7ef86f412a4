// SPDX-License-Identifier: MIT
// Redaction: replaces text that identifies a person or a machine, always by the same word for the
// same original ("redacted-path-3"), so that relations are preserved.
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

}  // namespace wb::session
