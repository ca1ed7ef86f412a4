// SPDX-License-Identifier: MIT
// Private to playbook: the tokens of a Lua 5.4 source.
#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"

namespace wb::playbook::lua {

struct Token {
  enum class Kind { name, string, number, sign, end };  ///< keywords are signs
  Kind kind = Kind::end;
  std::string text;  ///< for a string its content
  int line = 0;
};

/// The last token is `end`. Errors: parse.
Result<std::vector<Token>> tokens_of(const std::string& text, const std::string& name);

}  // namespace wb::playbook::lua
