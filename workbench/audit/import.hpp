// SPDX-License-Identifier: MIT
// Imports a foreign report: repaired text, sections and tables as values. Used by the verb
// `import_report`; audits read the same way, so line numbers agree.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/json.hpp"

namespace wb::audit {

struct Imported {
  std::string text;      ///< UTF-8, lines end in "\n", no byte order mark; lines keep their numbers
  std::string repaired;  ///< the repairs, in a sentence; empty: none
  std::size_t lines = 0;
  Json sections = Json::array();  ///< line, level, title
  Json tables = Json::array();    ///< line, section, complete, headers, rows {line, cells}
  Json gaps = Json::array();      ///< what could not be read, in sentences
};
/// Errors: limit (longer than k_max_document_bytes), parse (no text).
Result<Imported> import_report(const std::string& name, std::string_view bytes);

}  // namespace wb::audit
