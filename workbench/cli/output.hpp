// SPDX-License-Identifier: MIT
// Results for people: each verb's JSON as text. Programs use --json instead.
#pragma once

#include <string>
#include <string_view>

#include "core/json.hpp"

namespace wb {

/// The text for standard output, ending with a newline. For `run` and `open` the last line is the
/// path of the session folder.
std::string render_result(std::string_view verb, const Json& result);

}  // namespace wb
