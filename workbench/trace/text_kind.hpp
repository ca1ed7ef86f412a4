// SPDX-License-Identifier: MIT
// Private to reading: files that are no JSON at all, told by how they begin, so that the message
// says what the file is and what to do instead of which byte is wrong.
#pragma once

#include <optional>
#include <string_view>

namespace wb::trace {

struct ForeignText {
  std::string_view what, next;
};

/// How many bytes of a file's start are asked for.
inline constexpr std::size_t k_kind_bytes = 512;

/// Nothing when the text may be JSON. `head` is the start of the file, unpacked.
std::optional<ForeignText> foreign_text(std::string_view head);

}  // namespace wb::trace
