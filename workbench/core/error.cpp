// SPDX-License-Identifier: MIT
#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace wb {
namespace {

/// Length of the well-formed UTF-8 sequence at the front of `text`; 0 when there is none.
/// Overlong forms, surrogates and values above U+10FFFF are not well-formed.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

/// The code point of a well-formed sequence.
char32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return lead;
  char32_t point = lead & (0xffu >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) {
    point = (point << 6) | (static_cast<unsigned char>(sequence[i]) & 0x3fu);
  }
  return point;
}

}  // namespace

bool is_hidden_character(char32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0xad || point == 0x61c ||
         point == 0x180e || (point >= 0x200b && point <= 0x200f) ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
         point == 0xfeff || (point >= 0xfe00 && point <= 0xfe0f) ||
         (point >= 0xfff9 && point <= 0xfffb) || (point >= 0xe0000 && point <= 0xe0fff);
}

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return "usage";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::parse:
      return "parse";
    case ErrorCode::invalid:
      return "invalid";
    case ErrorCode::io:
      return "io";
    case ErrorCode::no_space:
      return "no_space";
    case ErrorCode::locked:
      return "locked";
    case ErrorCode::read_only:
      return "read_only";
    case ErrorCode::too_new:
      return "too_new";
    case ErrorCode::damaged:
      return "damaged";
    case ErrorCode::compile:
      return "compile";
    case ErrorCode::wrong_result:
      return "wrong_result";
    case ErrorCode::limit:
      return "limit";
    case ErrorCode::security:
      return "security";
    case ErrorCode::environment:
      return "environment";
    case ErrorCode::canceled:
      return "canceled";
    case ErrorCode::internal:
      return "internal";
  }
  throw std::logic_error("an ErrorCode outside its enumeration");
}

std::optional<ErrorCode> parse_error_code(std::string_view word) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    if (to_string(static_cast<ErrorCode>(code)) == word) return static_cast<ErrorCode>(code);
  }
  return std::nullopt;
}

std::string without_hidden_characters(std::string json) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x7f; };
  if (std::ranges::all_of(json, is_ascii)) return json;
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size();) {
    const std::string_view rest = std::string_view(json).substr(i);
    const std::size_t length = std::max<std::size_t>(utf8_length(rest), 1);
    const char32_t point = utf8_length(rest) > 0 ? code_point(rest.substr(0, length)) : U'?';
    if (point >= 0x7f && is_hidden_character(point)) {
      const auto wide = static_cast<std::uint32_t>(point);
      out += wide < 0x10000 ? fmt::format("\\u{:04x}", wide)
                            : fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((wide - 0x10000) >> 10),
                                          0xdc00 + ((wide - 0x10000) & 0x3ff));
    } else {
      out += rest.substr(0, length);
    }
    i += length;
  }
  return out;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  out.reserve(text.size() < max_bytes ? text.size() : max_bytes);
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() >= max_bytes) {
      out += fmt::format("... ({} bytes)", text.size());
      break;
    }
    const std::size_t length = utf8_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length <= 1 && (length == 0 || is_hidden_character(byte))) {
      out += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : fmt::format("\\x{:02x}", byte);
      ++i;
    } else if (is_hidden_character(code_point(text.substr(i, length)))) {
      for (std::size_t end = i + length; i < end; ++i) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      }
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

std::string Error::message() const {
  std::string line = "cannot " + (attempted.empty() ? std::string("go on") : attempted);
  if (!subject.empty()) line += " " + subject;
  if (!cause.empty()) line += ": " + cause;
  if (!next.empty()) line += "; " + next;
  return printable(line, std::string::npos);
}

namespace {
constexpr std::array<std::pair<Invalidity, std::string_view>, 6> k_words{{
    {Invalidity::constraints, "constraints"},
    {Invalidity::compile, "compile"},
    {Invalidity::runtime, "runtime"},
    {Invalidity::timeout, "timeout"},
    {Invalidity::correctness, "correctness"},
    {Invalidity::environment, "environment"},
}};
}  // namespace

std::string_view to_string(Invalidity value) {
  for (const auto& [key, word] : k_words) {
    if (key == value) return word;
  }
  return "environment";
}

std::optional<Invalidity> parse_invalidity(std::string_view word) {
  for (const auto& [key, text] : k_words) {
    if (text == word) return key;
  }
  return std::nullopt;
}

}  // namespace wb
