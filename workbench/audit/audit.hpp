// SPDX-License-Identifier: MIT
// Audits of reports: from any Markdown or plain text to the contradictions in its figures. Pure
// functions over the text; the verb `audit` reads the files and prints. docs/guide/audit.md has the
// formulas. `import_report` gives a foreign report as values; it reads as audits do, so line
// numbers agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "audit/facts.hpp"
#include "core/error.hpp"
#include "core/json.hpp"

namespace wb::audit {

inline constexpr std::uint64_t k_max_document_bytes = 8u << 20;

/// Checks that bytes are a text. Errors: limit (longer than k_max_document_bytes), parse (a NUL
/// byte, or mostly bytes that are no text).
Result<void> check_text(const std::string& name, std::string_view bytes);

struct Audited {
  std::string name;
  std::size_t lines = 0, tables = 0, figures = 0;
  std::string repaired;              ///< repairs before reading; empty: none
  std::vector<std::string> gaps;     ///< what could not be read
  std::vector<Finding> findings;     ///< by line
  std::vector<HeldFigure> held;      ///< by line
  std::vector<std::string> section;  ///< by finding: its heading
  [[nodiscard]] std::size_t count(Severity severity) const;
};

/// Whether a report is about kernels on a device, where words have one meaning: by its own terms,
/// or as the caller states (for an excerpt).
enum class ReportField { by_its_terms, kernels };

/// `name` is used in messages and in the report; `sources` are the kernels that its advice is
/// about. Errors: those of check_text.
Result<Audited> audit_document(const std::string& name, std::string_view bytes,
                               const std::vector<Source>& sources = {},
                               ReportField subject = ReportField::by_its_terms);

/// Markdown: the summary first, then each document by section.
std::string render(const std::vector<Audited>& documents);
Json to_json(const Audited& document);

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
