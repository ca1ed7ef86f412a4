// SPDX-License-Identifier: MIT
#include "html/text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/ascii.hpp"
#include "report/format.hpp"

namespace wb::html {
namespace {

constexpr std::size_t k_max_source_bytes = 300;

/// The length of a citation "[e12]" at the front, else 0. The caller drops the space before it.
std::size_t citation_length(std::string_view text) {
  if (!text.starts_with("[e")) return 0;
  std::size_t end = 2;
  while (end < text.size() && ascii::is_digit(text[end])) ++end;
  return end > 2 && end < text.size() && text[end] == ']' ? end + 1 : 0;
}

/// The same for a range: "[e3] to [e9]", "[e3] to [e9] (4 events)".
std::size_t citations_length(std::string_view text) {
  constexpr std::string_view k_to = " to ", k_open = " (", k_close = " events)";
  std::size_t length = citation_length(text);
  if (length == 0 || !text.substr(length).starts_with(k_to)) return length;
  const std::size_t last = citation_length(text.substr(length + k_to.size()));
  if (last == 0) return length;
  length += k_to.size() + last;
  const std::string_view rest = text.substr(length);
  if (!rest.starts_with(k_open)) return length;
  const std::size_t end = rest.find_first_not_of("0123456789", k_open.size());
  const bool counts =
      end != std::string_view::npos && end > k_open.size() && rest.substr(end).starts_with(k_close);
  return counts ? length + end + k_close.size() : length;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string words(std::string_view text, std::size_t max_bytes) {
  return escape(report::plain(text, max_bytes));
}

std::string source_line(std::string_view line) {
  std::string spaced;
  for (const char c : line) {
    if (c == '\t') {
      spaced += "  ";
    } else {
      spaced += c;
    }
  }
  return escape(report::plain(spaced, k_max_source_bytes));
}

std::string unmarked(std::string_view markdown) {
  std::string out;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    const std::string_view rest = markdown.substr(i);
    if (const std::size_t length = citations_length(rest); length > 0) {
      while (!out.empty() && out.back() == ' ') out.pop_back();
      i += length - 1;
      continue;
    }
    if (rest.front() == '\\' && rest.size() > 1 && ascii::is_punct(rest[1])) {
      out += rest[1];
      ++i;
    } else if (rest.front() != '`' && !rest.starts_with("**")) {
      out += rest.front();
    } else if (rest.front() == '*') {
      ++i;
    }
  }
  // Entities from the report are kept; all else is escaped.
  std::string safe;
  for (std::size_t i = 0; i < out.size(); ++i) {
    bool is_entity = false;
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&#58;", "&#46;"}) {
      is_entity = is_entity || out.compare(i, entity.size(), entity) == 0;
    }
    safe += is_entity ? "&" : escape(out.substr(i, 1));
  }
  return safe;
}

std::string coordinate(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

}  // namespace wb::html
