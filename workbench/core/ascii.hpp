// SPDX-License-Identifier: MIT
// Character classes and number parsing by ASCII alone. The functions of <cctype> and <cstdlib>
// follow the locale of the host program, in which a UTF-8 byte may be a letter and a number may
// have a comma. All parsers use these; .ci/check_numbers.py enforces it.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace wb::ascii {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
constexpr bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
constexpr bool is_alpha(char c) {
  return is_lower(c) || is_upper(c);
}
constexpr bool is_alnum(char c) {
  return is_alpha(c) || is_digit(c);
}
constexpr bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
/// Blank, tab and the line-end characters.
constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
/// A visible character that is neither a letter nor a digit.
constexpr bool is_punct(char c) {
  return c > ' ' && c < '\x7f' && !is_alnum(c);
}
constexpr char lower(char c) {
  return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
}
constexpr char upper(char c) {
  return is_lower(c) ? static_cast<char>(c - ('a' - 'A')) : c;
}

/// Parses the whole text as a number, as std::from_chars does: no blanks, no plus sign, no decimal
/// comma. Returns nothing when the text is no number or the number is too large for the type.
template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

/// Parses a whole number, also when it is written as a float: "64.0" is 64.
inline std::optional<std::int64_t> whole(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return number<std::int64_t>(text);
  const std::string_view rest = text.substr(point + 1);
  if (rest.empty() || rest.find_first_not_of('0') != std::string_view::npos) return std::nullopt;
  return number<std::int64_t>(text.substr(0, point));
}

/// The text without blanks, tabs and carriage returns at its ends.
inline std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// Splits at blanks. The text must outlive the result.
inline std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> all;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && !is_space(text[end])) ++end;
    if (end > at) all.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

/// Splits at the separator; a separator at the very end adds no empty part. The text must outlive
/// the result.
inline std::vector<std::string_view> parts(std::string_view text, char separator) {
  std::vector<std::string_view> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = text.find(separator, at);
    const std::size_t end = stop == std::string_view::npos ? text.size() : stop;
    all.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

}  // namespace wb::ascii
