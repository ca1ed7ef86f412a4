// SPDX-License-Identifier: MIT
// Line-by-line difference of two texts, as libgit2 (and `git diff`) computes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace wb::session {

struct DiffLine {
  char kind = ' ';   ///< ' ', '+', '-', or '@' for the head of a hunk
  std::string text;  ///< without line end
};

/// Hunks with three lines of context; empty for equal texts. Errors: limit (more than 64 MiB of
/// text), internal (libgit2 failed).
Result<std::vector<DiffLine>> line_diff(std::string_view before, std::string_view after);

}  // namespace wb::session
