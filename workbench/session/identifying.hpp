// SPDX-License-Identifier: MIT
// Private to session: what in a text names a person, a machine or a folder by its form alone.
#pragma once

#include <string>
#include <string_view>

namespace wb::session::identifying {

/// A piece of a text and what it is: "path", "email", "host", "user", "url".
struct Match {
  std::size_t length = 0;  ///< 0: nothing
  std::string_view kind = {};
};

/// What begins at `at`: an absolute path, an e-mail address or user@host, a URL, an IPv4, IPv6 or
/// hardware address, the id of a GPU's board.
Match match_form(std::string_view text, std::size_t at);

/// The byte at `at` belongs to a word: letters of any language, digits, '_'. False past the end.
bool is_word_at(std::string_view text, std::size_t at);
/// So does the byte before `at`.
bool follows_word(std::string_view text, std::size_t at);

/// Words that name nobody, and words that a log needs in its place: as names of users or machines
/// they are left alone.
bool is_common(std::string_view word);
/// The first part of what follows a folder of homes.
std::string user_of_home(std::string_view text, std::size_t after);
/// ASCII letters alone.
std::string lower(std::string_view text);

}  // namespace wb::session::identifying
