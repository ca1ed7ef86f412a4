// SPDX-License-Identifier: MIT
// What differs between two texts, line by line, as libgit2 (and so `git diff`) tells it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace wb::session {

struct DiffLine {
  char kind = ' ';   ///< ' ', '+', '-'; '@': the head of a hunk
  std::string text;  ///< without line end
};

/// Empty for equal texts; three lines of context. Errors: limit (more than 64 MiB of text),
/// internal (libgit2 gave up).
Result<std::vector<DiffLine>> line_diff(std::string_view before, std::string_view after);

}  // namespace wb::session
