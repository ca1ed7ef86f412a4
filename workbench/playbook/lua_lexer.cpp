// SPDX-License-Identifier: MIT
#include "playbook/lua_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "core/ascii.hpp"

namespace wb::playbook::lua {
namespace {

constexpr std::array<std::string_view, 22> k_keywords{
    "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while"};
// Longer signs first.
constexpr std::array<std::string_view, 33> k_signs{
    "...", "<<", ">>", "//", "==", "~=", "<=", ">=", "::", "..", "+", "-", "*", "/", "%", "^", "#",
    "&",   "~",  "|",  "<",  ">",  "=",  "(",  ")",  "{",  "}",  "[", "]", ";", ":", ",", "."};

bool begins_name(char c) {
  return ascii::is_alpha(c) || c == '_';
}
bool continues_name(char c) {
  return begins_name(c) || ascii::is_digit(c);
}

/// The byte of a numeric escape.
char byte_of(std::string_view digits, int base) {
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return static_cast<char>(value);
}

class Lexer {
 public:
  Lexer(const std::string& text, const std::string& name) : m_text(text), m_name(name) {}

  Result<std::vector<Token>> run() {
    if (m_text.starts_with("#")) m_at = std::min(m_text.find('\n'), m_text.size());
    while (true) {
      skip_blanks();
      if (!m_fault.empty()) break;
      Token token = next();
      if (!m_fault.empty()) break;
      m_tokens.push_back(std::move(token));
      if (m_tokens.back().kind == Token::Kind::end) return std::move(m_tokens);
    }
    return Error{ErrorCode::parse, "follow", m_name, fmt::format("line {}: {}", m_line, m_fault),
                 ""};
  }

 private:
  [[nodiscard]] char at(std::size_t ahead = 0) const {
    return m_at + ahead < m_text.size() ? m_text[m_at + ahead] : '\0';
  }

  /// The number of '=' of a long bracket at this position, or -1.
  [[nodiscard]] int long_bracket() const {
    if (at() != '[') return -1;
    std::size_t level = 0;
    while (at(1 + level) == '=') ++level;
    return at(1 + level) == '[' ? static_cast<int>(level) : -1;
  }

  std::string long_text(int level) {
    const std::string close = "]" + std::string(static_cast<std::size_t>(level), '=') + "]";
    const std::size_t begin = m_at + close.size();
    const std::size_t end = m_text.find(close, begin);
    if (end == std::string::npos) {
      m_fault = "a long bracket is not closed";
      return {};
    }
    std::string text = m_text.substr(begin, end - begin);
    m_line += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    m_at = end + close.size();
    if (text.starts_with('\n')) text.erase(0, 1);
    return text;
  }

  void skip_blanks() {
    while (m_at < m_text.size() && m_fault.empty()) {
      if (at() == '\n') ++m_line;
      if (ascii::is_space(at())) {
        ++m_at;
      } else if (at() == '-' && at(1) == '-') {
        m_at += 2;
        if (const int level = long_bracket(); level >= 0) {
          (void)long_text(level);
        } else {
          m_at = std::min(m_text.find('\n', m_at), m_text.size());
        }
      } else {
        return;
      }
    }
  }

  void escape(std::string& text) {
    constexpr std::string_view k_letters = "abfnrtv\\\"'", k_meant = "\a\b\f\n\r\t\v\\\"'";
    const char c = at();
    if (const std::size_t known = k_letters.find(c); known != std::string_view::npos && c != '\0') {
      text += k_meant[known];
      ++m_at;
    } else if (c == '\n') {
      text += c;
      ++m_line;
      ++m_at;
    } else if (c == 'z') {
      for (++m_at; ascii::is_space(at()); ++m_at) {
        m_line += at() == '\n' ? 1 : 0;
      }
    } else if (c == 'x') {
      text += byte_of(std::string_view(m_text).substr(m_at + 1, 2), 16);
      m_at += 3;
    } else if (ascii::is_digit(c)) {
      std::size_t digits = 1;
      while (digits < 3 && ascii::is_digit(at(digits))) ++digits;
      text += byte_of(std::string_view(m_text).substr(m_at, digits), 10);
      m_at += digits;
    } else {
      text += '\\';  // \x01u{…} occurs in no name, and other texts are not looked up
      ++m_at;
    }
  }

  std::string quoted() {
    const char quote = at();
    std::string text;
    for (++m_at; at() != quote;) {
      if (m_at >= m_text.size() || at() == '\n') {
        m_fault = "a string is not closed";
        return {};
      }
      if (at() == '\\') {
        ++m_at;
        escape(text);
      } else {
        text += m_text[m_at++];
      }
    }
    ++m_at;
    return text;
  }

  Token number() {
    const std::size_t begin = m_at;
    const bool is_hex = at() == '0' && (at(1) == 'x' || at(1) == 'X');
    while (continues_name(at()) || at() == '.') {
      const char c = ascii::lower(at());
      ++m_at;
      if (c == (is_hex ? 'p' : 'e') && (at() == '+' || at() == '-')) ++m_at;
    }
    return {Token::Kind::number, m_text.substr(begin, m_at - begin), m_line};
  }

  Token next() {
    if (m_at >= m_text.size()) return {Token::Kind::end, "", m_line};
    const int line = m_line;
    if (begins_name(at())) {
      const std::size_t begin = m_at;
      while (continues_name(at())) ++m_at;
      std::string word = m_text.substr(begin, m_at - begin);
      const bool is_keyword =
          std::find(k_keywords.begin(), k_keywords.end(), word) != k_keywords.end();
      return {is_keyword ? Token::Kind::sign : Token::Kind::name, std::move(word), line};
    }
    const auto is_digit = [&](std::size_t ahead) { return ascii::is_digit(at(ahead)); };
    if (is_digit(0) || (at() == '.' && is_digit(1))) return number();
    if (at() == '"' || at() == '\'') return {Token::Kind::string, quoted(), line};
    if (const int level = long_bracket(); level >= 0) {
      return {Token::Kind::string, long_text(level), line};
    }
    for (const std::string_view sign : k_signs) {
      if (std::string_view(m_text).substr(m_at).starts_with(sign)) {
        m_at += sign.size();
        return {Token::Kind::sign, std::string(sign), line};
      }
    }
    m_fault = fmt::format("a character that Lua does not have ({})",
                          static_cast<int>(static_cast<unsigned char>(at())));
    return {};
  }

  const std::string& m_text;
  const std::string& m_name;
  std::size_t m_at = 0;
  int m_line = 1;
  std::string m_fault;
  std::vector<Token> m_tokens;
};

}  // namespace

Result<std::vector<Token>> tokens_of(const std::string& text, const std::string& name) {
  return Lexer(text, name).run();
}

}  // namespace wb::playbook::lua
