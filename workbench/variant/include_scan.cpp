// SPDX-License-Identifier: MIT
// A lexer of just enough C++: it blanks comments and literals, then looks at lines that are
// directives. Quoted names survive because they are read before the literal rule applies.
#include "variant/include_scan.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/files.hpp"

namespace wb {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}
/// A table: every byte of every source is asked for whenever kernels are listed.
constexpr std::array<bool, 256> k_is_word = [] {
  std::array<bool, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (int c = '0'; c <= '9'; ++c) table[c] = true;
  table['_'] = true;
  return table;
}();
bool is_word(char c) {
  return k_is_word[static_cast<unsigned char>(c)];
}

/// Joins lines that end in a backslash (blanks after it are allowed by the compilers).
std::string without_splices(std::string_view text) {
  std::string joined;
  joined.reserve(text.size());
  std::size_t begin = 0;
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at)) {
    std::size_t end = at + 1;
    while (end < text.size() && is_blank(text[end])) ++end;
    if (end < text.size() && text[end] == '\n') {
      joined += text.substr(begin, at - begin);
      begin = end + 1;
    }
    at = end;
  }
  joined += text.substr(begin);
  return joined;
}

class Scanner {
 public:
  Scanner(std::string text, std::string_view what) : m_text(std::move(text)), m_what(what) {}

  Result<std::vector<std::string>> run() {
    bool line_start = true;
    while (m_at < m_text.size()) {
      const char c = m_text[m_at];
      if (c == '\n') {
        line_start = true;
        ++m_at;
      } else if (is_blank(c)) {
        ++m_at;
      } else if (skip_comment()) {
        continue;  // a comment before # leaves the line a directive
      } else if (line_start && (c == '#' || (c == '%' && starts_with("%:")))) {
        m_at += c == '#' ? 1 : 2;
        WB_TRY(directive());
        line_start = false;
      } else {
        line_start = false;
        skip_token();
      }
    }
    return std::move(m_names);
  }

 private:
  [[nodiscard]] bool starts_with(std::string_view word) const {
    return std::string_view(m_text).substr(m_at).starts_with(word);
  }
  bool skip_comment() {
    if (m_text[m_at] != '/') return false;
    if (starts_with("//")) {
      m_at = std::min(m_text.find('\n', m_at), m_text.size());
      return true;
    }
    if (starts_with("/*")) {
      const std::size_t end = m_text.find("*/", m_at + 2);
      m_at = end == std::string::npos ? m_text.size() : end + 2;
      return true;
    }
    return false;
  }
  void skip_blanks_and_comments() {
    while (m_at < m_text.size() && (is_blank(m_text[m_at]) || skip_comment())) {
      if (m_at < m_text.size() && is_blank(m_text[m_at])) ++m_at;
    }
  }
  void skip_token() {
    const char c = m_text[m_at];
    if (c == '"' || c == '\'') {
      skip_literal(c);
    } else if (is_word(c)) {
      const std::size_t begin = m_at;
      const bool number = m_text[begin] >= '0' && m_text[begin] <= '9';
      while (m_at < m_text.size() && is_word(m_text[m_at])) {
        ++m_at;
        // A digit separator is no character literal: 1'000.
        if (number && m_at + 1 < m_text.size() && m_text[m_at] == '\'' &&
            is_word(m_text[m_at + 1])) {
          ++m_at;
        }
      }
      if (m_at >= m_text.size() || m_text[m_at] != '"') return;
      const std::string_view word = std::string_view(m_text).substr(begin, m_at - begin);
      const bool raw = word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
      if (raw) skip_raw_string();
    } else {
      ++m_at;
    }
  }
  void skip_literal(char quote) {
    for (++m_at; m_at < m_text.size() && m_text[m_at] != '\n'; ++m_at) {
      if (m_text[m_at] == '\\') {
        ++m_at;
      } else if (m_text[m_at] == quote) {
        ++m_at;
        return;
      }
    }
  }
  void skip_raw_string() {
    const std::size_t open = m_text.find('(', m_at);
    if (open == std::string::npos || open - m_at > 17) {  // a delimiter has at most 16 characters
      ++m_at;
      return;
    }
    const std::string close = ")" + m_text.substr(m_at + 1, open - m_at - 1) + "\"";
    const std::size_t end = m_text.find(close, open);
    m_at = end == std::string::npos ? m_text.size() : end + close.size();
  }
  /// Stands after '#'. Everything but an include is left to the ordinary token rules.
  Result<void> directive() {
    skip_blanks_and_comments();
    const std::size_t begin = m_at;
    while (m_at < m_text.size() && is_word(m_text[m_at])) ++m_at;
    const std::string_view word = std::string_view(m_text).substr(begin, m_at - begin);
    if (word != "include" && word != "include_next" && word != "import" && word != "embed") {
      return {};
    }
    skip_blanks_and_comments();
    const char open = m_at < m_text.size() ? m_text[m_at] : '\n';
    if (word != "include" || (open != '"' && open != '<')) {
      const std::size_t end = std::min(m_text.find('\n', m_at), m_text.size());
      return refuse("#" + std::string(word) + " " + m_text.substr(m_at, end - m_at),
                    "only #include \"name\" and #include <name> are allowed, so that the files a "
                    "kernel depends on are known");
    }
    const std::size_t end = m_text.find_first_of(open == '"' ? "\"\n" : ">\n", m_at + 1);
    if (end == std::string::npos || m_text[end] == '\n') return {};  // the compiler will refuse it
    std::string name = m_text.substr(m_at + 1, end - m_at - 1);
    m_at = end + 1;
    if (open == '"') {
      m_names.push_back(std::move(name));
    } else if (!is_inside(name)) {
      return refuse("#include <" + name + ">", "absolute paths and .. are not allowed");
    }
    return {};
  }
  [[nodiscard]] Error refuse(std::string directive, std::string why) const {
    return Error{ErrorCode::invalid, "follow " + directive + " of", std::string(m_what),
                 std::move(why), "include files of the kernel's folder or of kernels/common"};
  }

  std::string m_text;
  std::string_view m_what;
  std::size_t m_at = 0;
  std::vector<std::string> m_names;
};

}  // namespace

Result<std::vector<std::string>> scan_includes(std::string_view text, std::string_view what) {
  return Scanner(without_splices(text), what).run();
}

std::vector<std::string> scan_common_imports(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    for (const std::string_view opening : {"from common.", "import common."}) {
      if (!line.starts_with(opening)) continue;
      line.remove_prefix(opening.size());
      const auto is_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
      };
      const auto* stop = std::find_if_not(line.begin(), line.end(), is_name);
      if (stop != line.begin()) names.emplace_back(line.begin(), stop);
      break;
    }
  }
  return names;
}

}  // namespace wb
