// SPDX-License-Identifier: MIT
// Redaction: what names a person or a machine in recorded text is replaced, the same thing always
// by the same word ("redacted-path-3"), so that what belongs together still does.
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
  /// Learns from a log the names that no pattern tells from other words: authors, the host behind
  /// the transport, users in paths of home folders. Never a word that is a key of the log's
  /// objects, now or later: replaced, it would break the log. Errors: damaged.
  Result<void> learn(const EventLog& log);
  /// Also those in a text that is not the log's (a blob).
  void learn_homes(std::string_view text);

  /// The text with all of it replaced: absolute paths, e-mail addresses, user@host, URLs, IPv4,
  /// IPv6 and hardware addresses, ids of GPU boards, and what was learned, as whole words in any
  /// letter case.
  std::string text(std::string_view words);
  /// All strings of a value, keys too.
  Json json(const Json& value);
  /// The word for a field that holds such a thing and nothing else, however short or common it is;
  /// nothing for nothing.
  std::string whole(std::string_view kind, std::string_view original);

  /// How often what was replaced: "path", "email", "host", "user", "url" -> times.
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
