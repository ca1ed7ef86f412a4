// SPDX-License-Identifier: MIT
// Private to reading: recognizes files that are no JSON by their first bytes, so that the message
// says what the file is and what to do instead of naming a wrong byte.
#pragma once

#include <optional>
#include <string_view>

namespace wb::trace {

struct ForeignText {
  std::string_view what, next;
};

/// Number of bytes needed from a file's start.
inline constexpr std::size_t k_kind_bytes = 512;

/// Nothing when the text may be JSON. `head` is the unpacked start of the file.
std::optional<ForeignText> foreign_text(std::string_view head);

}  // namespace wb::trace
