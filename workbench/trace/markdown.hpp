// SPDX-License-Identifier: MIT
// Private to trace: cells and tables of the findings page, and the text of figures that may be
// unknown. Names from a profile are quoted and cut, so that they cannot break a table.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/text.hpp"

namespace wb::trace::markdown {

using wb::markdown::head;
using wb::markdown::row;

/// Escapes bars.
std::string cell(std::string text);
std::string name_cell(const std::string& name, std::size_t max_bytes = 80);
/// "not known" when the value is no number (no string).
std::string number(const Json& value, const char* form = "{:.2f}");
std::string percent(const Json& value);
std::string word(const Json& value);

}  // namespace wb::trace::markdown
