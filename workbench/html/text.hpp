// SPDX-License-Identifier: MIT
// Private to html: untrusted text into HTML, and numbers into attributes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wb::html {

/// For content and for attributes in double quotes: markup characters become entities. Nothing is
/// cut; hidden characters must be gone (page::plain).
std::string escape(std::string_view text);
/// One line of untrusted text: control, bidirectional and invisible characters and bytes that are
/// not UTF-8 shown as {U+202E}, at most `max_bytes`, escaped.
std::string words(std::string_view text, std::size_t max_bytes = 400);
/// A line of source: as words(), tabs as two spaces, indentation kept.
std::string source_line(std::string_view line);
/// Markdown that this program wrote in a phrase (`code`, escapes, [e12]) as plain words, escaped:
/// for labels that have no room for markup.
std::string unmarked(std::string_view markdown);
/// "12.3", "7": one decimal at most, for coordinates.
std::string coordinate(double value);

}  // namespace wb::html
