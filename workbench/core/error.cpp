// SPDX-License-Identifier: MIT
#include "core/error.hpp"

#include <fmt/format.h>

#include <stdexcept>

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

}  // namespace

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
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : fmt::format("\\x{:02x}", byte);
      ++i;
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

}  // namespace wb
