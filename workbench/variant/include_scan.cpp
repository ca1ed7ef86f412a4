// SPDX-License-Identifier: MIT
// A small C++ lexer: it blanks comments and literals, then reads directive lines. Quoted include
// names are read before literals are blanked.
#include "variant/include_scan.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "core/ascii.hpp"
#include "core/files.hpp"

namespace wb::variant {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}
/// A table for speed: every byte of every source is checked when kernels are listed.
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

/// Text with lines joined at backslashes (the compilers allow blanks after them), with a map to the
/// original text, since raw strings are not joined.
class Joined {
 public:
  explicit Joined(std::string_view text) : m_written(text) {
    m_text.reserve(text.size());
    std::size_t begin = 0;
    for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at)) {
      std::size_t end = at + 1;
      while (end < text.size() && is_blank(text[end])) ++end;
      if (end < text.size() && text[end] == '\n') {
        m_text += text.substr(begin, at - begin);
        begin = end + 1;
        m_cuts.push_back({m_text.size(), begin});
        end = begin;
      }
      at = std::max(end, at + 1);
    }
    m_text += text.substr(begin);
  }
  [[nodiscard]] const std::string& text() const { return m_text; }
  [[nodiscard]] std::string_view written() const { return m_written; }
  /// Position of text()[at] in the original text.
  [[nodiscard]] std::size_t place_of(std::size_t at) const {
    const auto after = std::ranges::upper_bound(m_cuts, at, {}, &Cut::joined);
    if (after == m_cuts.begin()) return at;
    return std::prev(after)->written + (at - std::prev(after)->joined);
  }
  /// The first position of text() that came from `place` or later.
  [[nodiscard]] std::size_t at_or_behind(std::size_t place) const {
    const auto after = std::ranges::upper_bound(m_cuts, place, {}, &Cut::written);
    const std::size_t at = after == m_cuts.begin()
                               ? place
                               : std::prev(after)->joined + (place - std::prev(after)->written);
    return after == m_cuts.end() ? at : std::min(at, after->joined);
  }

 private:
  struct Cut {
    std::size_t joined, written;  ///< where the text continues after it
  };
  std::string_view m_written;
  std::string m_text;
  std::vector<Cut> m_cuts;
};

/// Compiler macros whose values no id covers.
constexpr std::array<std::string_view, 3> k_dates = {"__DATE__", "__TIME__", "__TIMESTAMP__"};
/// Operators that test whether a file exists.
constexpr std::array<std::string_view, 3> k_probes = {"__has_include", "__has_include_next",
                                                      "__has_embed"};
constexpr std::size_t k_least_piece = 3;  ///< "__h", which ## could complete

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// A part of a probe's name that only token pasting could complete.
bool is_piece_of_probe(std::string_view word) {
  return std::ranges::any_of(k_probes, [word](std::string_view probe) {
    const bool front =
        word.size() >= k_least_piece && word.size() < probe.size() && probe.starts_with(word);
    return front || word == probe.substr(1) || word == probe.substr(2);
  });
}

class Scanner {
 public:
  Scanner(const Joined& joined, std::string_view what)
      : m_joined(joined), m_text(joined.text()), m_what(what) {
    m_pastes = m_text.find("##") != std::string::npos || m_text.find("%:%:") != std::string::npos;
  }

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
        WB_TRY(skip_token());
      }
    }
    return literals_name_no_file();
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
  Result<void> skip_token() {
    const char c = m_text[m_at];
    if (c == '"' || c == '\'') {
      skip_literal(c);
      return {};
    }
    if (!is_word(c)) {
      ++m_at;
      return {};
    }
    const std::size_t begin = m_at;
    const bool number = m_text[begin] >= '0' && m_text[begin] <= '9';
    while (m_at < m_text.size() && is_word(m_text[m_at])) {
      ++m_at;
      // A digit separator is no character literal: 1'000.
      if (number && m_at + 1 < m_text.size() && m_text[m_at] == '\'' && is_word(m_text[m_at + 1])) {
        ++m_at;
      }
    }
    const std::string_view word = std::string_view(m_text).substr(begin, m_at - begin);
    WB_TRY(check_word(word, begin));
    if (m_at >= m_text.size() || m_text[m_at] != '"') return {};
    const bool raw = word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
    if (raw) skip_raw_string();
    return {};
  }
  Result<void> check_word(std::string_view word, std::size_t begin) {
    if (!word.starts_with('_') && !m_pastes) return {};
    if (is_one_of(word, k_dates)) {
      return refuse(std::string(word), "the time of a build is no part of an artifact's id");
    }
    if (is_one_of(word, k_probes)) return check_probe(word, begin);
    if (m_pastes && is_piece_of_probe(word)) {
      return refuse(std::string(word), "pasted together it would look for a file");
    }
    return {};
  }
  /// Called after the word. The tested file must be named, and be inside or a system header.
  Result<void> check_probe(std::string_view word, std::size_t begin) {
    skip_blanks_and_comments();
    if (m_at >= m_text.size() || m_text[m_at] != '(') {
      std::string_view before = std::string_view(m_text).substr(0, begin);
      while (!before.empty() && (is_blank(before.back()) || before.back() == '(')) {
        before.remove_suffix(1);
      }
      for (const std::string_view asks : {"defined", "ifdef", "ifndef"}) {
        if (before.ends_with(asks)) return {};
      }
      return refuse(std::string(word), "only " + std::string(word) + "(<name>) is allowed");
    }
    ++m_at;
    skip_blanks_and_comments();
    const char open = m_at < m_text.size() ? m_text[m_at] : '\n';
    const std::size_t end = open == '"' || open == '<'
                                ? m_text.find_first_of(open == '"' ? "\"\n" : ">\n", m_at + 1)
                                : std::string::npos;
    if (end == std::string::npos || m_text[end] == '\n') {
      return refuse(std::string(word), "what it looks for must be named: <name> or \"name\"");
    }
    const std::string name = m_text.substr(m_at + 1, end - m_at - 1);
    m_at = end + 1;
    if (is_inside(name)) return {};
    return refuse(std::string(word) + "(" + name + ")", "absolute paths and .. are not allowed");
  }
  /// Checks all literals together, since the compiler joins adjacent ones.
  Result<std::vector<std::string>> literals_name_no_file() {
    for (const std::string_view directive : {"incbin", ".include"}) {
      if (m_literals.find(directive) != std::string::npos) {
        return refuse(std::string(directive), "an assembler's file is not known to the build");
      }
    }
    return std::move(m_names);
  }
  void skip_literal(char quote) {
    for (++m_at; m_at < m_text.size() && m_text[m_at] != '\n'; ++m_at) {
      if (m_text[m_at] == '\\') {
        ++m_at;
      } else if (m_text[m_at] == quote) {
        ++m_at;
        return;
      }
      if (quote == '"' && m_at < m_text.size()) m_literals += m_text[m_at];
    }
  }
  /// On the original text: in raw strings the compilers undo line joining.
  void skip_raw_string() {
    const std::string_view written = m_joined.written();
    const std::size_t quote = m_joined.place_of(m_at);
    const std::size_t open = written.find('(', quote);
    if (open == std::string_view::npos || open - quote > 17) {  // at most 16 in a delimiter
      ++m_at;
      return;
    }
    const std::string close = ")" + std::string(written.substr(quote + 1, open - quote - 1)) + "\"";
    const std::size_t end = written.find(close, open);
    m_literals += written.substr(open + 1, std::min(end, written.size()) - open - 1);
    m_at =
        end == std::string_view::npos ? m_text.size() : m_joined.at_or_behind(end + close.size());
  }
  /// Called after '#'. Directives other than includes are left to the token rules.
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

  const Joined& m_joined;
  const std::string& m_text;
  std::string_view m_what;
  bool m_pastes = false;  ///< it pastes tokens
  std::string m_literals;
  std::size_t m_at = 0;
  std::vector<std::string> m_names;
};

}  // namespace

Result<std::vector<std::string>> scan_includes(std::string_view text, std::string_view what) {
  const Joined joined(text);
  return Scanner(joined, what).run();
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
      const auto is_name = [](char c) { return ascii::is_alnum(c) || c == '_'; };
      const auto* stop = std::find_if_not(line.begin(), line.end(), is_name);
      if (stop != line.begin()) names.emplace_back(line.begin(), stop);
      break;
    }
  }
  return names;
}

}  // namespace wb::variant
