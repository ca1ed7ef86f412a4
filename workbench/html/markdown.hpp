// SPDX-License-Identifier: MIT
// Private to html: converts the Markdown report to HTML. md4c parses it; only known elements are
// written, raw HTML becomes text, and no link leaves the page.
#pragma once

#include <string>
#include <string_view>

#include "html/document.hpp"

namespace wb::html {

/// [e12] becomes a link to the event's row. Headings begin at h3.
std::string render_markdown(std::string_view markdown, Citations& cited);

/// The part before the first "## ", without the title line; the rest.
struct SplitReport {
  std::string_view title, first_screen, rest;
};
SplitReport split_report(std::string_view markdown);

/// #report: whole lines, at most `max_bytes` of Markdown so that the page stays small, and a note
/// on what was left out. Tables may be cut.
std::string report_part(std::string_view markdown, Citations& cited, std::size_t max_bytes);

}  // namespace wb::html
