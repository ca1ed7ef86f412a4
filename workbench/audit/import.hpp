// SPDX-License-Identifier: MIT
// A foreign report as something to work with: its text repaired, its sections and tables as values.
// Called by the verb `import_report`; audits read the same way, so lines have the same numbers.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/json.hpp"

namespace wb::audit {

struct Imported {
  std::string text;      ///< UTF-8, lines end in "\n", no byte order mark; lines keep their numbers
  std::string repaired;  ///< what was mended, in a sentence; empty: nothing
  std::size_t lines = 0;
  Json sections = Json::array();  ///< line, level, title
  Json tables = Json::array();    ///< line, section, complete, headers, rows {line, cells}
  Json gaps = Json::array();      ///< what could not be read, in sentences
};
/// Errors: limit (longer than k_max_document_bytes), parse (no text).
Result<Imported> import_report(const std::string& name, std::string_view bytes);

}  // namespace wb::audit
