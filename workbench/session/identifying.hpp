// SPDX-License-Identifier: MIT
// Private to session: recognizes pieces of text that identify a person, a machine or a folder by
// their form alone.
#pragma once

#include <string>
#include <string_view>

namespace wb::session::identifying {

/// A recognized piece: its length and kind: "path", "email", "host", "user", "url".
struct Match {
  std::size_t length = 0;  ///< 0: no match
  std::string_view kind = {};
};

/// Matches at `at`: an absolute path, an e-mail address or user@host, a URL, an IPv4, IPv6 or
/// hardware address, a GPU's board id.
Match match_form(std::string_view text, std::size_t at);

/// True when the byte at `at` is part of a word: letters of any language, digits, '_'. False past
/// the end.
bool is_word_at(std::string_view text, std::size_t at);
/// True when the byte before `at` is part of a word.
bool follows_word(std::string_view text, std::size_t at);

/// True for words that identify nobody or that a log needs: they are not redacted even as names of
/// users or machines.
bool is_common(std::string_view word);
/// The user name in a path after a folder of homes.
std::string user_of_home(std::string_view text, std::size_t after);
/// Lower-cases ASCII letters only.
std::string lower(std::string_view text);

}  // namespace wb::session::identifying
