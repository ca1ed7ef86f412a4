// SPDX-License-Identifier: MIT
// Repairs a foreign report's encoding: UTF-8 that was read as CP1252 is converted back, and what
// cannot be is counted. Independent of the text's content.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wb::audit {

struct Repaired {
  std::string text;
  std::size_t restored = 0;      ///< symbols restored without loss
  std::size_t from_table = 0;    ///< symbols inferred from their remaining bytes
  std::size_t not_restored = 0;  ///< runs that fit neither, left unchanged
  std::size_t not_utf8 = 0;      ///< bytes that are not UTF-8, replaced by U+FFFD
};
/// Line breaks become "\n"; a byte order mark is dropped. Line numbers stay the same.
Repaired repair(std::string_view bytes);

/// A line in the ASCII form that checks read. Symbols become words ("->", "x", "[no]"), emphasis
/// and code marks are dropped, other characters become spaces.
std::string plain_of(std::string_view line);

}  // namespace wb::audit
