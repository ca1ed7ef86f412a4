// SPDX-License-Identifier: MIT
// What a foreign report needs before it can be read: UTF-8 that was once taken for CP1252 is turned
// back, and what cannot be is counted. Nothing here knows what the text is about.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wb::audit {

struct Repaired {
  std::string text;
  std::size_t restored = 0;      ///< symbols that came back losslessly
  std::size_t from_table = 0;    ///< symbols told by the bytes that were left of them
  std::size_t not_restored = 0;  ///< runs that fit neither; left as they are
  std::size_t not_utf8 = 0;      ///< bytes that are not UTF-8; now U+FFFD
};
/// Line breaks become "\n"; a byte order mark is dropped. Lines keep their numbers.
Repaired repair(std::string_view bytes);

/// A line as checks read it: ASCII. Symbols become words ("->", "x", "[no]"), emphasis and code
/// marks go, other characters become spaces.
std::string plain_of(std::string_view line);

}  // namespace wb::audit
