// SPDX-License-Identifier: MIT
#include "audit/repair.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace wb::audit {
namespace {

/// Code points of CP1252's 0x80 to 0x9f; 0 if undefined.
constexpr std::array<std::uint16_t, 32> k_cp1252{
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};

struct Decoded {
  std::uint32_t code = 0;
  std::size_t length = 0;  ///< 0: not UTF-8
};

Decoded decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t n) -> std::uint32_t {
    return at + n < text.size() ? static_cast<unsigned char>(text[at + n]) : 0;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4) return {};
  std::uint32_t code = first & (0x7fu >> length);
  for (std::size_t n = 1; n < length; ++n) {
    if ((byte(n) & 0xc0u) != 0x80u) return {};
    code = (code << 6) | (byte(n) & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> k_least{0, 0, 0x80, 0x800, 0x10000};
  if (code < k_least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, length};
}

std::optional<char> to_cp1252(std::uint32_t code) {
  // 81 8d 8f 90 9d have no character; many converters keep them as control characters.
  if (code < 0x100) return static_cast<char>(code);
  for (std::size_t n = 0; n < k_cp1252.size(); ++n) {
    if (k_cp1252[n] == code) return static_cast<char>(0x80 + n);
  }
  return std::nullopt;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Decoded here = decode(text, at);
    if (here.length == 0) return false;
    at += here.length;
  }
  return true;
}

/// Symbols that lost bytes in a conversion: the remaining bytes, and the symbol. Used only if the
/// text is damaged in this way.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> k_broken{{
    {"\xe2\x9c", "\xe2\x9d\x8c"},          // a cross without its middle byte (0x9d)
    {"\xe2\x8c", "\xe2\x9d\x8c"},          // the same
    {"\xf0\x9f\x94", "\xf0\x9f\x94\x8d"},  // magnifier without 0x8d
    {"\xf0\x9f\x86", "\xf0\x9f\x8f\x86"},  // trophy without 0x8f
    {"\xe2\x86", "\xe2\x86\x90"},          // left arrow without 0x90
    {"\xe2", "\xe2\xad\x90"},              // star without both
}};

struct Run {
  std::string cp1252;  ///< its characters as bytes
  bool encodable = true;
};

Run encode(std::string_view run) {
  Run made;
  for (std::size_t at = 0; at < run.size();) {
    const Decoded here = decode(run, at);
    const auto byte = to_cp1252(here.code);
    if (!byte) made.encodable = false;
    if (byte) made.cp1252 += *byte;
    at += here.length;
  }
  return made;
}

/// Calls `visit` for each run of non-ASCII characters with its position.
template <typename Visit>
void for_runs(std::string_view text, Visit visit) {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80) ++end;
    visit(at, end);
    at = end;
  }
}

/// Repairs text by alternating the longest valid UTF-8 prefix and one broken symbol.
std::optional<std::string> mend(std::string_view bytes, Repaired& counts) {
  std::string text;
  std::size_t whole = 0, guessed = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Decoded here = decode(bytes, at);
    if (here.length > 0) {
      text += bytes.substr(at, here.length);
      at += here.length;
      ++whole;
      continue;
    }
    const auto broken = std::find_if(k_broken.begin(), k_broken.end(), [&](const auto& entry) {
      return bytes.substr(at).starts_with(entry.first);
    });
    if (broken == k_broken.end()) return std::nullopt;
    text += broken->second;
    at += broken->first.size();
    ++guessed;
  }
  counts.restored += whole;
  counts.from_table += guessed;
  return text;
}

/// Whether the CP1252 characters decode to whole multi-byte symbols, which does not happen in real
/// text.
bool is_mojibake(std::string_view text) {
  std::size_t hidden = 0, plain = 0;
  for_runs(text, [&](std::size_t begin, std::size_t end) {
    const Run run = encode(text.substr(begin, end - begin));
    const bool one = decode(text, begin).length == end - begin;
    if (run.encodable && !one && is_utf8(run.cp1252)) {
      ++hidden;
    } else if (!run.encodable) {
      ++plain;
    }
  });
  return hidden > plain;
}

std::string valid_utf8(std::string_view bytes, std::size_t& faults) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Decoded here = decode(bytes, at);
    if (here.length == 0) {
      text += "\xef\xbf\xbd";
      ++faults;
      ++at;
      continue;
    }
    text += bytes.substr(at, here.length);
    at += here.length;
  }
  return text;
}

std::string one_line_end(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\r') {
      made += text[at];
    } else if (at + 1 >= text.size() || text[at + 1] != '\n') {
      made += '\n';
    }
  }
  return made;
}

struct Symbol {
  std::uint32_t code;
  std::string_view word;
};
constexpr std::array<Symbol, 55> k_symbols{{
    {0xd7, "x"},        {0x2715, " [no] "}, {0x2192, "->"},     {0x2190, "<-"},
    {0x21d2, "=>"},     {0x2013, "-"},      {0x2014, " - "},    {0x2212, "-"},
    {0x2011, "-"},      {0x2010, "-"},      {0xb5, "u"},        {0x3bc, "u"},
    {0xb7, "*"},        {0x22c5, "*"},      {0x2264, "<="},     {0x2265, ">="},
    {0x2248, "~"},      {0x223c, "~"},      {0xa0, " "},        {0x202f, " "},
    {0x2009, " "},      {0x2713, " [ok] "}, {0x2714, " [ok] "}, {0x2705, " [ok] "},
    {0x274c, " [no] "}, {0x2717, " [no] "}, {0x2718, " [no] "}, {0x26a0, " [warn] "},
    {0x2502, "|"},      {0x2503, "|"},      {0x2551, "|"},      {0x2500, "-"},
    {0x2501, "-"},      {0x2550, "-"},      {0xf7, "/"},        {0x2019, "'"},
    {0xb2, "^2"},       {0x2018, "'"},      {0x253c, "+"},      {0x2215, "/"},
    {0xb3, "^3"},       {0xb9, "^1"},       {0x2070, "^0"},     {0x2074, "^4"},
    {0x2075, "^5"},     {0x2076, "^6"},     {0x2077, "^7"},     {0x2078, "^8"},
    {0x2079, "^9"},     {0x207b, "^-"},     {0x221a, "sqrt"},   {0xb1, " +/- "},
    {0x2044, "/"},      {0x2026, " ... "},  {0x21b3, "> "},
}};

std::string_view word_of(std::uint32_t code) {
  for (const Symbol& symbol : k_symbols) {
    if (symbol.code == code) return symbol.word;
  }
  // A mathematical symbol may change the figure beside it, so it must not become a space.
  const bool subscript = code >= 0x2080 && code <= 0x208e;
  const bool operation = (code >= 0x2200 && code <= 0x22ff) || (code >= 0x0391 && code <= 0x03c9) ||
                         (code >= 0x2308 && code <= 0x230b);
  if (subscript) return "_";
  if (operation) return "?";
  return code >= 0x2500 && code <= 0x257f ? "+" : " ";
}

}  // namespace

Repaired repair(std::string_view bytes) {
  Repaired result;
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  const std::string text = one_line_end(valid_utf8(bytes, result.not_utf8));
  if (!is_mojibake(text)) {
    result.text = text;
    return result;
  }
  std::size_t done = 0;
  for_runs(text, [&](std::size_t begin, std::size_t end) {
    result.text += text.substr(done, begin - done);
    done = end;
    const std::string_view raw = std::string_view(text).substr(begin, end - begin);
    const Run run = encode(raw);
    const auto mended = run.encodable ? mend(run.cp1252, result) : std::nullopt;
    if (!mended) ++result.not_restored;
    result.text += mended ? *mended : std::string(raw);
  });
  result.text += text.substr(done);
  return result;
}

/// Whether the letter belongs to a script in which no word or unit is known.
bool is_foreign_letter(std::uint32_t code) {
  const auto within = [&](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  return within(0x400, 0x1fff) || within(0x3041, 0x30ff) || within(0x3400, 0x9fff) ||
         within(0xac00, 0xd7a3) || within(0xf900, 0xfaff) || within(0x20000, 0x3ffff);
}

std::string plain_of(std::string_view line) {
  std::string plain;
  plain.reserve(line.size());
  bool in_exponent = false;
  for (std::size_t at = 0; at < line.size();) {
    const Decoded here = decode(line, at);
    if (here.length <= 1) {
      const char c = line[at++];
      in_exponent = false;
      if (c == '`') continue;
      // Characters that Markdown escapes are taken literally, as in an escaped "~400 ms" or "<5".
      constexpr std::string_view k_escaped = "~$<>*_+-#";
      if (c == '\\' && at < line.size() && k_escaped.find(line[at]) != std::string_view::npos) {
        plain += line[at++];
        continue;
      }
      if (c == '*' && at < line.size() && line[at] == '*') {
        // "4096**2" is a power; other double asterisks are Markdown.
        const char before = at >= 2 ? line[at - 2] : ' ';
        const char after = at + 1 < line.size() ? line[at + 1] : ' ';
        const auto is_digit = [](char one) { return one >= '0' && one <= '9'; };
        const bool number = (is_digit(before) || before == ')') && is_digit(after);
        const bool apart = before == ' ' && after == ' ' && at > 2 && at + 1 < line.size();
        if (number || apart) plain += '^';
        ++at;
        continue;
      }
      plain += c == '\t' ? ' ' : c;
      continue;
    }
    std::string_view word = word_of(here.code);
    // An unread word still separates: "48 … = 5" must not become 48.
    if (word == " " && is_foreign_letter(here.code)) {
      if (!plain.ends_with(" _ ")) plain += " _ ";
      at += here.length;
      in_exponent = false;
      continue;
    }
    // Superscripts one after another are the digits of one exponent.
    const bool superscript = word.size() == 2 && word[0] == '^';
    if (superscript && in_exponent) word.remove_prefix(1);
    plain += word;
    at += here.length;
    in_exponent = superscript;
  }
  return plain;
}

}  // namespace wb::audit
