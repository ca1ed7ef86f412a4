// SPDX-License-Identifier: MIT
// Shared by report and html: formats numbers, event references and tables, and escapes untrusted
// text (variant names, notes, compiler output) for Markdown and terminals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/fields.hpp"

namespace wb::report {

// Untrusted text
// ------------------------------------------------------------------------------------

/// One line that is safe on a terminal: control, bidirectional and invisible characters and bytes
/// that are not UTF-8 become {U+202E} or {0xFF}; line breaks become spaces. Cut after `max_bytes`.
std::string plain(std::string_view text, std::size_t max_bytes = 400);
/// plain() with everything escaped that could be Markdown, HTML, the end of a table cell or a link.
std::string inline_text(std::string_view text, std::size_t max_bytes = 400);
/// Like inline_text(), but cut at the end of a word; for text that is shown in full elsewhere.
std::string brief(std::string_view text, std::size_t max_bytes);
/// Like inline_text(), but of a longer text its first sentences or clauses that fit, else its first
/// words. Where that leaves a sentence unfinished it ends in one ellipsis.
std::string clause(std::string_view text, std::size_t max_bytes);
/// A code span for harmless names; other text as by inline_text().
std::string code(std::string_view text, std::size_t max_bytes = 120);
/// A fenced block that its content cannot close. At most `max_lines` lines of at most 200 bytes;
/// the middle is left out and counted. Empty for blank text.
std::string fenced(std::string_view text, std::size_t max_lines = 40);
/// Like fenced(), without the fence, each line indented by two spaces (for terminals).
std::string indented(std::string_view text, std::size_t max_lines = 40);

// Events
// --------------------------------------------------------------------------------------------

/// "[e12]"; empty for 0 (a fact without an event).
std::string ref(std::int64_t seq);
/// " [e12]" or nothing, to append to a figure.
std::string cite(std::int64_t seq);
/// " [e12] [e15]"; more than three as " [e12] to [e15]", with "(40 events)" if there are others in
/// between.
std::string cite(const std::vector<std::int64_t>& seqs);

// Numbers
// -------------------------------------------------------------------------------------------

std::string fixed(double value, int decimals);
/// Decimals for a ratio: two, or more when it is small, its interval is narrow or an end would be
/// rounded to 1.
int ratio_decimals(const Ratio& ratio);
/// "1.32x [1.29, 1.35]"; "not measured" without a value.
std::string speedup(const Ratio& ratio);
std::string speedup(std::optional<double> value);
/// Four significant digits, no exponent: "10.52", "2133".
std::string microseconds(std::optional<double> value_us);
/// Two significant digits: "1.2 %".
std::string percent(std::optional<double> frac);
/// "4 min 12 s", "1 h 03 min".
std::string duration(double seconds);
/// Plain notation with up to four significant digits and an SI prefix: "1.234 T".
std::string with_prefix(double value);
/// Sizes of memory in binary units: "32 MiB".
std::string bytes(double value);
/// At most so many significant digits, as {:.3g}, but never with an exponent: "2930".
std::string significant(double value, int digits);
/// Recorded words as readers know them: "2.93e+03 GB/s" becomes "2930 GB/s", and rates of a data
/// sheet without sparsity are called dense.
std::string readable(std::string said);
/// "1 problem", "2 problems".
std::string count(std::int64_t n, std::string_view singular);

// Tables
// --------------------------------------------------------------------------------------------

/// A Markdown table, padded to be readable as plain text. Cells must be escaped.
class Table {
 public:
  /// A column whose name ends in '>' is aligned to the right.
  explicit Table(std::vector<std::string> header);
  void row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return m_rows.empty(); }
  [[nodiscard]] std::string str() const;

 private:
  std::vector<std::string> m_header;
  std::vector<bool> m_right;
  std::vector<std::vector<std::string>> m_rows;
};

}  // namespace wb::report
