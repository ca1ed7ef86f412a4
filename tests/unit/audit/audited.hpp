// SPDX-License-Identifier: MIT
// For the tests of audits: a text audited, and its findings by check. Used by tests/unit/audit.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "audit/audit.hpp"
#include "support/catch.hpp"

namespace wb::audit::test {

/// A table of shapes, two times and their ratio in which all is right.
inline const std::string k_times =
    "| B | H | S | D | Torch (ms) | Mine (ms) | Speedup |\n|---|---|---|---|---|---|---|\n"
    "| 1 | 8 | 1024 | 64 | 0.400 | 0.800 | 0.50x |\n"
    "| 2 | 8 | 1024 | 64 | 0.790 | 1.600 | 0.49x (2.0x slower) |\n"
    "| 4 | 8 | 1024 | 64 | 1.600 | 4.000 | 0.40x |\n";

/// An excerpt of a report about kernels, whose terms it need not name.
inline Audited audited(const std::string& text, const std::vector<Source>& sources = {}) {
  return audit_document("report.md", text, sources, ReportField::kernels).value();
}

inline std::vector<Finding> of_check(const Audited& document, const std::string& check) {
  std::vector<Finding> found;
  for (const Finding& finding : document.findings) {
    if (finding.check == check) found.push_back(finding);
  }
  return found;
}

inline std::size_t held_by(const Audited& document, const std::string& check) {
  return static_cast<std::size_t>(
      std::count_if(document.held.begin(), document.held.end(),
                    [&](const HeldFigure& one) { return one.check == check; }));
}

/// The text with the first `from` replaced; a `from` that is not there fails the test.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// All findings in words, for the message of a failing test.
inline std::string told(const Audited& document) {
  std::string text;
  for (const Finding& finding : document.findings) {
    text += std::to_string(finding.line) + " " + finding.check + ": " + finding.printed + "; " +
            finding.computed + "\n";
  }
  return text;
}

/// What the check itself calls a finding, before its basis in the table of checks is considered.
/// Most tests are about this: which figures a check is sure of. What is called a contradiction in
/// the end is tested in basis_test.cpp.
inline Severity told_as(const Finding& finding) {
  const bool held_back = finding.meaning.find("doubtful at most: ") != std::string::npos;
  return held_back ? Severity::contradiction : finding.severity;
}
inline std::size_t count(const Audited& document, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(document.findings.begin(), document.findings.end(),
                    [&](const Finding& one) { return told_as(one) == severity; }));
}
inline std::size_t number_of(const std::string& text, Severity severity) {
  const Audited document = audited(text);
  UNSCOPED_INFO(text << told(document));
  return count(document, severity);
}
inline bool contradicts(const std::string& text) {
  return number_of(text, Severity::contradiction) == 1;
}
inline bool never_contradicts(const std::string& text) {
  return number_of(text, Severity::contradiction) == 0;
}
/// Told, and not called a contradiction by its check.
inline bool only_doubts(const std::string& text) {
  return number_of(text, Severity::contradiction) == 0 && number_of(text, Severity::doubtful) == 1;
}

}  // namespace wb::audit::test
