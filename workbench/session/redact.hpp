// SPDX-License-Identifier: MIT
// Redaction: what names a person or a machine in recorded text is replaced, the same thing always
// by the same word ("redacted-path-3"), so that what belongs together still does.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "session/log.hpp"

namespace wb {

class Redactor {
 public:
  /// Learns from a log the names that no pattern tells from other words: authors, the host behind
  /// the transport, the GPU's serial id, users in paths of home folders. Errors: damaged.
  Result<void> learn(const EventLog& log);
  /// Also those in a text that is not the log's (a blob).
  void learn_homes(std::string_view text);

  /// The text with all of it replaced: absolute paths, e-mail addresses, user@host, URLs, IPv4,
  /// IPv6 and hardware addresses, and what was learned, as whole words in any letter case.
  std::string text(std::string_view words);
  /// All strings of a value, keys too.
  Json json(const Json& value);

  /// How often what was replaced: "path", "email", "host", "user", "url" -> times.
  [[nodiscard]] const std::map<std::string, std::int64_t>& counts() const { return m_counts; }

 private:
  std::string replacement(std::string_view kind, std::string_view original);
  void learn_word(std::string_view kind, const std::string& word);
  /// Of what stands at `at`: its length, 0 for nothing; `kind` says what it is.
  std::size_t match(std::string_view text, std::size_t at, std::string_view& kind) const;
  std::size_t match_learned(std::string_view text, std::size_t at, std::string_view& kind) const;

  std::map<std::string, std::string, std::less<>> m_learned;  ///< lower case -> kind
  std::map<std::string, std::string, std::less<>> m_words;    ///< kind + original -> replacement
  std::map<std::string, std::int64_t> m_numbers, m_counts;
};

}  // namespace wb
