// SPDX-License-Identifier: MIT
#include "trace/json_scanner.hpp"

namespace wb::trace {

namespace {

std::uint32_t hex4(std::string_view digits) {
  std::uint32_t value = 0;
  for (const char c : digits) {
    const auto digit =
        static_cast<std::uint32_t>(c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    value = value * 16 + digit;
  }
  return value;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace

std::string unescaped(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      text += raw[i];
      continue;
    }
    const char c = raw[++i];
    constexpr std::string_view k_letters = "bfnrt", k_meanings = "\b\f\n\r\t";
    const std::size_t letter = k_letters.find(c);
    if (c != 'u') {
      text += letter == std::string_view::npos ? c : k_meanings[letter];
      continue;
    }
    std::uint32_t code = hex4(raw.substr(i + 1, 4));
    i += 4;
    const bool high = code >= 0xd800 && code < 0xdc00;
    if (high && raw.substr(i + 1, 2) == "\\u") {
      const std::uint32_t low = hex4(raw.substr(i + 3, 4));
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i += 6;
      }
    }
    append_utf8(text, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
  }
  return text;
}

}  // namespace wb::trace
