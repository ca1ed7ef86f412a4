// SPDX-License-Identifier: MIT
#include "trace/markdown.hpp"
#include "core/json.hpp"

#include <algorithm>

namespace wb::trace::markdown {

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

std::string name_cell(const std::string& name, std::size_t max_bytes) {
  std::string shown = printable(name, max_bytes);
  std::replace(shown.begin(), shown.end(), '`', '\'');
  return "`" + cell(std::move(shown)) + "`";
}

std::string number(const Json& value, const char* form) {
  return value.is_number() ? fmt::format(fmt::runtime(form), value.get<double>())
                           : std::string("not known");
}

std::string percent(const Json& value) {
  return value.is_number() ? number(value) + " %" : number(value);
}

std::string word(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string("not known");
}

}  // namespace wb::trace::markdown
