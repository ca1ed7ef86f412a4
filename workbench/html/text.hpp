// SPDX-License-Identifier: MIT
// Private to html: converts untrusted text to HTML and numbers to attributes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wb::html {

/// For content and double-quoted attributes: markup characters become entities. Nothing is cut;
/// hidden characters must have been replaced (report::plain).
std::string escape(std::string_view text);
/// One line of untrusted text, escaped, at most `max_bytes`; control, bidirectional and invisible
/// characters and bytes that are not UTF-8 are shown as {U+202E}.
std::string words(std::string_view text, std::size_t max_bytes = 400);
/// A line of source: like words(), with tabs as two spaces and indentation kept.
std::string source_line(std::string_view line);
/// Markdown phrases of this program (`code`, escapes, [e12]) as plain escaped words, for labels
/// without room for markup.
std::string unmarked(std::string_view markdown);
/// "12.3", "7": one decimal at most, for coordinates.
std::string coordinate(double value);

}  // namespace wb::html
