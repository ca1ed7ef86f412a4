// SPDX-License-Identifier: MIT
// Escaping of untrusted text. What a kernel's author, a compiler or an agent wrote must never
// change how the page around it is read.
#include <fmt/format.h>

#include <algorithm>

#include "report/format.hpp"

namespace wb::report {
namespace {

constexpr std::size_t k_max_line_bytes = 200;
constexpr std::size_t k_max_block_bytes = std::size_t{64} << 10;

struct Decoded {
  char32_t point = 0;
  std::size_t bytes = 0;  ///< 0: not valid UTF-8
};

/// The first code point; overlong forms, surrogates and values beyond Unicode are refused.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t point = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    point = (point << 6) | (byte(i) & 0x3fu);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  if (overlong || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return {};
  return {point, bytes};
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// An underscore inside a word is not emphasis, and is frequent in names.
bool is_inside_word(std::string_view text, std::size_t i) {
  return i > 0 && i + 1 < text.size() && is_word(text[i - 1]) && is_word(text[i + 1]);
}

std::string_view markdown_escape(char32_t point) {
  switch (point) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '|':
      return "\\|";
    case '\\':
      return "\\\\";
    case '`':
      return "\\`";
    case '*':
      return "\\*";
    case '_':
      return "\\_";
    case '[':
      return "\\[";
    case ']':
      return "\\]";
    case '~':
      return "\\~";
    case '$':  // some viewers read formulas
      return "\\$";
    default:
      return {};
  }
}

/// The text on one line. `markdown` also escapes what Markdown, HTML and link detection interpret.
std::string clean(std::string_view text, std::size_t max_bytes, bool markdown) {
  std::string out;
  std::size_t i = 0;
  for (; i < text.size() && i < max_bytes;) {
    const Decoded decoded = decode(text.substr(i));
    const char32_t point = decoded.point;
    if (decoded.bytes == 0) {
      out += fmt::format("{{0x{:02X}}}", static_cast<unsigned char>(text[i]));
      ++i;
      continue;
    }
    const bool is_active = markdown && !(point == '_' && is_inside_word(text, i));
    const std::string_view escape = is_active ? markdown_escape(point) : std::string_view();
    if (point == '\n' || point == '\t' || point == '\r') {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else if (is_hidden_character(point)) {
      out += fmt::format("{{U+{:04X}}}", static_cast<std::uint32_t>(point));
    } else if (!escape.empty()) {
      out += escape;
    } else if (markdown && point == ':' && text.substr(i, 3) == "://") {
      out += "&#58;";
    } else if (markdown && point == '.' && i >= 3 && (text[i - 1] == 'w' || text[i - 1] == 'W')) {
      out += "&#46;";  // "www." would become a link
    } else {
      out += text.substr(i, decoded.bytes);
    }
    i += decoded.bytes;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  if (i < text.size()) out += fmt::format(" ... ({} bytes in all)", text.size());
  return out;
}

/// The lines for a code block; if there are too many, the first and the last.
std::vector<std::string> block_lines(std::string_view text, std::size_t max_lines) {
  std::size_t left_out_bytes = 0;
  std::vector<std::string_view> raw;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    raw.push_back(text.substr(at, end - at));
    at = end + 1;
    if (at > k_max_block_bytes && at < text.size()) {
      left_out_bytes = text.size() - at;
      break;
    }
  }
  while (!raw.empty() && raw.back().empty()) raw.pop_back();
  const std::size_t head = raw.size() > max_lines ? max_lines * 3 / 4 : raw.size();
  const std::size_t tail = raw.size() > max_lines ? max_lines - head : 0;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (i == head && tail > 0) {
      lines.push_back(fmt::format(
          "... ({} left out)", count(static_cast<std::int64_t>(raw.size() - head - tail), "line")));
      i = raw.size() - tail;
    }
    std::string line;
    const std::size_t indent = std::min(raw[i].find_first_not_of(' '), raw[i].size());
    line.assign(std::min(indent, std::size_t{40}), ' ');
    line += clean(raw[i].substr(indent), k_max_line_bytes, false);
    lines.push_back(std::move(line));
  }
  if (left_out_bytes > 0) lines.push_back(fmt::format("... ({} bytes left out)", left_out_bytes));
  return lines;
}

std::size_t longest_run(const std::string& line, char c) {
  std::size_t longest = 0, run = 0;
  for (const char other : line) {
    run = other == c ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

std::string plain(std::string_view text, std::size_t max_bytes) {
  return clean(text, max_bytes, false);
}

std::string inline_text(std::string_view text, std::size_t max_bytes) {
  return clean(text, max_bytes, true);
}

std::string brief(std::string_view text, std::size_t max_bytes) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  if (text.size() <= max_bytes) return inline_text(text, max_bytes);
  std::size_t cut = text.find_last_of(" \n", max_bytes);
  if (cut == std::string_view::npos || cut < max_bytes / 2) cut = max_bytes;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
  return inline_text(text.substr(0, cut), cut) + " ...";
}

namespace {

/// Where a text may be cut: behind its last whole sentence or clause, behind a part of one, and
/// before a word, each 0 where none fits. What stands in brackets is not cut.
struct Cuts {
  std::size_t whole = 0, part = 0, word = 0;
};

Cuts cuts_of(std::string_view text, std::size_t max_bytes) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n'; };
  Cuts cuts;
  int depth = 0;
  for (std::size_t i = 0; i <= max_bytes && i + 1 < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[') ++depth;
    if ((c == ')' || c == ']') && depth > 0) --depth;
    if (is_space(c)) cuts.word = i;
    if (depth > 0 || i + 2 >= text.size() || !is_space(text[i + 1])) continue;
    // The full stop of "e.g. this" ends nothing.
    const bool is_inner = text[i + 2] >= 'a' && text[i + 2] <= 'z';
    if (c == ';' || (c == '.' && !is_inner)) cuts.whole = i;
    if (c == ',' || c == ':') cuts.part = i;
  }
  return cuts;
}

}  // namespace

std::string clause(std::string_view text, std::size_t max_bytes) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  if (text.size() <= max_bytes) return inline_text(text, max_bytes);
  const Cuts cuts = cuts_of(text, max_bytes);
  // A shorter one leaves a reader with less than the first words do.
  const std::size_t least = max_bytes / 3;
  if (cuts.whole > least && 2 * cuts.whole >= cuts.part) {
    return inline_text(text.substr(0, cuts.whole), max_bytes);
  }
  std::size_t end = cuts.part > least ? cuts.part : cuts.word;
  if (end < least) end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return inline_text(text.substr(0, end), max_bytes) + " \u2026";
}

std::string code(std::string_view text, std::size_t max_bytes) {
  const auto is_harmless = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" _@.+-=:,/>*").find(c) != std::string_view::npos;
  };
  if (!text.empty() && text.size() <= max_bytes && text.front() != ' ' && text.back() != ' ' &&
      std::all_of(text.begin(), text.end(), is_harmless)) {
    return "`" + std::string(text) + "`";
  }
  return inline_text(text, max_bytes);
}

std::string fenced(std::string_view text, std::size_t max_lines) {
  const std::vector<std::string> lines = block_lines(text, max_lines);
  if (lines.empty()) return {};
  std::size_t ticks = 3;
  for (const std::string& line : lines) ticks = std::max(ticks, longest_run(line, '`') + 1);
  const std::string fence(ticks, '`');
  std::string out = fence + "text\n";
  for (const std::string& line : lines) out += line + "\n";
  return out + fence + "\n";
}

std::string indented(std::string_view text, std::size_t max_lines) {
  std::string out;
  for (const std::string& line : block_lines(text, max_lines)) out += "  " + line + "\n";
  return out;
}

}  // namespace wb::report
