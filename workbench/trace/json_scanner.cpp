// SPDX-License-Identifier: MIT
#include "trace/json_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/ascii.hpp"

namespace wb::trace {
namespace {

constexpr std::size_t k_chunk_bytes = 1u << 20;
constexpr std::size_t k_padding = 16;

constexpr std::uint64_t repeated(unsigned char byte) {
  return 0x0101010101010101ull * byte;
}

/// Sets the high bit of each zero byte. Bytes above a true hit may be false hits, so only "none"
/// and the first hit are reliable.
constexpr std::uint64_t zero_bytes(std::uint64_t word) {
  return (word - repeated(1)) & ~word & repeated(0x80);
}

/// Whether eight bytes are free of quotes, backslashes, control characters and non-ASCII bytes.
bool plain_word(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const std::uint64_t controls = (word - repeated(0x20)) & ~word & repeated(0x80);
  return (zero_bytes(word ^ repeated('"')) | zero_bytes(word ^ repeated('\\')) | controls |
          (word & repeated(0x80))) == 0;
}

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_number(std::string_view token) {
  if (token == "NaN" || token == "Infinity" || token == "-Infinity") return true;
  std::size_t at = token.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < token.size() && is_digit(token[at])) ++at;
    return at > from;
  };
  const std::size_t whole = at;
  if (!digits() || (token[whole] == '0' && at > whole + 1)) return false;
  if (at < token.size() && token[at] == '.' && (++at, !digits())) return false;
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    if (!digits()) return false;
  }
  return at == token.size();
}

}  // namespace

JsonScanner::JsonScanner(ByteSource& source, std::string what)
    : m_source(source), m_what(std::move(what)), m_buffer(k_chunk_bytes + k_padding) {}

bool JsonScanner::fail(ErrorCode code, std::string cause, std::string next) {
  if (!m_fault) {
    m_fault = Error{code, "read the trace", m_what,
                    fmt::format("byte {}: {}", m_before + m_pos, cause), std::move(next)};
  }
  return false;
}

/// Moves the retained bytes to the front and reads more. False at the end of the text or after a
/// fault.
bool JsonScanner::refill() {
  if (m_fault) return false;
  const std::size_t from = m_hold == k_none ? m_pos : m_hold;
  std::memmove(m_buffer.data(), m_buffer.data() + from, m_end - from);
  m_before += from;
  m_pos -= from;
  m_end -= from;
  if (m_hold != k_none) m_hold = 0;
  if (m_end > k_max_held_bytes) {
    return fail(ErrorCode::limit, "one event is larger than 64 MiB", "leave it out of the trace");
  }
  if (m_end + k_chunk_bytes / 4 + k_padding > m_buffer.size()) m_buffer.resize(2 * m_buffer.size());
  auto got = m_source.read({m_buffer.data() + m_end, m_buffer.size() - k_padding - m_end});
  if (!got) {
    m_fault = got.error();
    return false;
  }
  m_end += *got;
  std::memset(m_buffer.data() + m_end, 0, k_padding);
  return *got > 0;
}

bool JsonScanner::has(std::size_t bytes) {
  while (m_end - m_pos < bytes) {
    if (!refill()) return false;
  }
  return true;
}

char JsonScanner::peek() {
  for (;;) {
    const char c = m_buffer[m_pos];
    if (m_pos == m_end) {
      if (!refill()) return 0;
    } else if (is_blank(c)) {
      ++m_pos;
    } else {
      return m_fault ? '\0' : c;
    }
  }
}

bool JsonScanner::expect(char c) {
  const char found = peek();
  if (found == c && m_pos < m_end) {
    ++m_pos;
    return true;
  }
  if (m_pos == m_end) {
    return fail(ErrorCode::parse, fmt::format("the text ends where '{}' should stand", c),
                "the file is cut off: export or copy it again");
  }
  return fail(ErrorCode::parse, fmt::format("'{}' where '{}' should stand",
                                            printable(std::string_view(&found, 1)), c));
}

std::string_view JsonScanner::lookahead(std::size_t bytes) {
  has(bytes);
  return {m_buffer.data() + m_pos, std::min(bytes, m_end - m_pos)};
}

bool JsonScanner::next_item(char close) {
  if (m_fault || !take(',')) return false;
  if (peek() != close) return true;
  return fail(ErrorCode::parse, fmt::format("a comma with nothing behind it, before '{}'", close),
              "remove the comma, or export the trace again");
}

bool JsonScanner::at_end() {
  return peek() == 0 && m_pos == m_end && !m_fault;
}

bool JsonScanner::enter(char c) {
  if (!expect(c)) return false;
  if (++m_depth <= k_max_depth) return true;
  return fail(ErrorCode::limit, fmt::format("nested deeper than {}", k_max_depth));
}

/// Reads an escape; the position is at the backslash.
bool JsonScanner::escape() {
  if (!has(2)) return fail(ErrorCode::parse, "the text ends inside a string");
  const char c = m_buffer[m_pos + 1];
  if (c != 'u') {
    if (std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos || c == 0) {
      return fail(ErrorCode::parse, "an escape that JSON does not have");
    }
    m_pos += 2;
    return true;
  }
  if (!has(6)) return fail(ErrorCode::parse, "the text ends inside a string");
  for (std::size_t i = 2; i < 6; ++i) {
    if (!ascii::is_hex_digit(m_buffer[m_pos + i])) {
      return fail(ErrorCode::parse, "an escape \\u without four digits");
    }
  }
  m_pos += 6;
  return true;
}

/// Reads one UTF-8 character by the table of RFC 3629; the position is at a byte above 127.
bool JsonScanner::utf8_sequence() {
  const auto byte = [this](std::size_t i) {
    return static_cast<unsigned char>(m_buffer[m_pos + i]);
  };
  const unsigned char lead = byte(0);
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  bool good = lead >= 0xc2 && lead <= 0xf4 && has(length);
  if (good) {
    const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    good = byte(1) >= low && byte(1) <= high;
    for (std::size_t i = 2; i < length; ++i) good = good && (byte(i) & 0xc0) == 0x80;
  }
  if (!good) {
    return fail(ErrorCode::parse, "bytes that are not UTF-8", "traces are UTF-8: export it again");
  }
  m_pos += length;
  return true;
}

bool JsonScanner::skip_string() {
  if (!expect('"')) return false;
  for (;;) {
    while (m_pos + 8 <= m_end && plain_word(m_buffer.data() + m_pos)) m_pos += 8;
    const auto c = static_cast<unsigned char>(m_buffer[m_pos]);
    if (m_pos == m_end) {
      if (!refill()) {
        return fail(ErrorCode::parse, "the text ends inside a string",
                    "the file is cut off: export or copy it again");
      }
    } else if (c == '"') {
      ++m_pos;
      return true;
    } else if (c == '\\') {
      if (!escape()) return false;
    } else if (c < 0x20) {
      return fail(ErrorCode::parse, "a control character inside a string");
    } else if (c >= 0x80) {
      if (!utf8_sequence()) return false;
    } else {
      ++m_pos;
    }
  }
}

bool JsonScanner::string(Slice& out) {
  if (peek() != '"') return expect('"');
  const std::size_t begin = m_pos - held_from() + 1;
  if (!skip_string()) return false;
  out = {begin, m_pos - held_from() - 1};
  return true;
}

/// Skips a number or a word, which is short enough to be held completely.
bool JsonScanner::skip_scalar() {
  constexpr std::size_t k_max_scalar_bytes = 512;
  std::size_t length = 0;
  for (;; ++length) {
    if (m_pos + length == m_end && !has(length + 1)) break;
    const char c = m_buffer[m_pos + length];
    const bool part = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                      c == '-' || c == '+';
    if (!part) break;
    if (length == k_max_scalar_bytes) return fail(ErrorCode::parse, "a number of no end");
  }
  if (m_fault) return false;
  const std::string_view token(m_buffer.data() + m_pos, length);
  if (!is_number(token) && token != "true" && token != "false" && token != "null") {
    if (m_pos + length == m_end) {
      return fail(ErrorCode::parse, "the text ends inside a value",
                  "the file is cut off: export or copy it again");
    }
    if (token.empty()) {
      return fail(ErrorCode::parse,
                  fmt::format("'{}' where a value should stand",
                              printable(std::string_view(m_buffer.data() + m_pos, 1))));
    }
    return fail(ErrorCode::parse, fmt::format("\"{}\" is no value of JSON", printable(token, 40)));
  }
  m_pos += length;
  return true;
}

bool JsonScanner::value(Slice& out) {
  const char c = peek();
  const std::size_t begin = m_pos - held_from();
  const std::size_t before = static_cast<std::size_t>(m_before);
  bool good = false;
  if (c == '"') {
    good = skip_string();
  } else if (c == '{') {
    good = object([this](std::string_view) { return skip(); });
  } else if (c == '[') {
    good = array([this] { return skip(); });
  } else {
    good = skip_scalar();
  }
  if (m_hold == k_none && before != static_cast<std::size_t>(m_before)) {
    out = {};  // skipped without being stored
  } else {
    out = {begin, m_pos - held_from()};
  }
  return good;
}

}  // namespace wb::trace
