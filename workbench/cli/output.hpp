// SPDX-License-Identifier: MIT
// Results for people: each verb's JSON as text. Programs use --json instead.
#pragma once

#include <string>
#include <string_view>

#include "core/json.hpp"

namespace wb::cli {

/// The text for standard output, ending with a newline. For `run` and `open` the last line is the
/// path of the session folder.
std::string render_result(std::string_view verb, const Json& result);

/// A value as JSON, on one line unless indented. What a verb hands over may hold any bytes (a
/// source file, a compiler's words): those that are not UTF-8 become U+FFFD.
std::string json_text(const Json& value, int indent = -1);

}  // namespace wb::cli
