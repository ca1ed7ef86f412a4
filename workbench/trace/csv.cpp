// SPDX-License-Identifier: MIT
#include "trace/csv.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/ascii.hpp"
#include "core/json.hpp"

namespace wb::trace {

namespace {

Error parse_error(std::string_view what, std::string cause) {
  return Error{ErrorCode::parse, "read", std::string(what), std::move(cause),
               "make the file again with `sdpa-wb trace prepare`"};
}

}  // namespace

bool CsvTable::has(std::string_view column) const {
  return std::find(header.begin(), header.end(), column) != header.end();
}

const std::string& CsvTable::cell(std::size_t row, std::string_view column) const {
  static const std::string none;
  const auto found = std::find(header.begin(), header.end(), column);
  return found == header.end() ? none : rows[row][static_cast<std::size_t>(found - header.begin())];
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view what) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  CsvTable table;
  for (CsvRow& row : wb::parse_csv(text)) {
    if (!row.is_closed) {
      return parse_error(what, fmt::format("the quote in line {} never closes", row.line));
    }
    if (table.header.empty()) {
      table.header = std::move(row.fields);
    } else if (row.fields.size() != table.header.size()) {
      return parse_error(what, fmt::format("line {} has {} cells, the header {}", row.line,
                                           row.fields.size(), table.header.size()));
    } else {
      table.rows.push_back(std::move(row.fields));
    }
  }
  return table;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + '"';
}

std::string python_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<double> cell_number(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  // pandas may write np.float64(1.5).
  if (text.starts_with("np.") && text.ends_with(')') && text.find('(') != std::string_view::npos) {
    text = text.substr(text.find('(') + 1);
    text.remove_suffix(1);
  }
  double value = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || stop != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

namespace {

// A parser of the literals that pandas writes into cells: the only names are the constants, the
// only calls NumPy's scalar types.

constexpr int k_max_depth = 32;

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : m_text(text) {}

  Result<Json> run() {
    WB_TRY_ASSIGN(Json value, this->value(0));
    blanks();
    if (m_at != m_text.size()) return fault("more text after the value");
    return value;
  }

 private:
  [[nodiscard]] Error fault(std::string cause, ErrorCode code = ErrorCode::parse) const {
    return Error{code,
                 "read the Python literal",
                 printable(m_text, 80),
                 fmt::format("at character {}: {}", m_at + 1, cause),
                 {}};
  }
  [[nodiscard]] char peek() const { return m_at < m_text.size() ? m_text[m_at] : '\0'; }
  void blanks() {
    while (m_at < m_text.size() && ascii::is_space(m_text[m_at])) {
      ++m_at;
    }
  }
  bool take(char c) {
    blanks();
    if (peek() != c || m_at == m_text.size()) return false;
    ++m_at;
    return true;
  }

  Result<Json> value(int depth) {
    if (depth > k_max_depth) return fault("nested too deep", ErrorCode::limit);
    blanks();
    const char c = peek();
    if (c == '\'' || c == '"') return string();
    if (c == '[' || c == '(') return list(depth);
    if (c == '{') return dict(depth);
    if (ascii::is_alpha(c)) return word(depth);
    return number();
  }

  Result<Json> string() {
    const char quote = m_text[m_at++];
    std::string text;
    while (m_at < m_text.size() && m_text[m_at] != quote) {
      char c = m_text[m_at++];
      if (c == '\\' && m_at < m_text.size()) {
        c = m_text[m_at++];
        c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      }
      text += c;
    }
    if (!take_exact(quote)) return fault("a string that never closes");
    return Json(std::move(text));
  }
  bool take_exact(char c) {
    if (m_at >= m_text.size() || m_text[m_at] != c) return false;
    ++m_at;
    return true;
  }

  /// Reads a list or a tuple; (x) is x itself.
  Result<Json> list(int depth) {
    const char close = m_text[m_at++] == '[' ? ']' : ')';
    Json items = Json::array();
    bool comma = false;
    while (!take(close)) {
      if (!items.empty() && !comma) return fault("a comma is missing");
      WB_TRY_ASSIGN(Json item, value(depth + 1));
      items.push_back(std::move(item));
      comma = take(',');
    }
    if (close == ')' && items.size() == 1 && !comma) return Json(items.front());
    return items;
  }

  Result<Json> dict(int depth) {
    ++m_at;
    Json map = Json::object();
    bool comma = true;
    while (!take('}')) {
      if (!comma) return fault("a comma is missing");
      WB_TRY_ASSIGN(const Json key, value(depth + 1));
      if (!key.is_string()) return fault("a key that is no string");
      if (!take(':')) return fault("a colon is missing");
      WB_TRY_ASSIGN(Json item, value(depth + 1));
      map[key.get<std::string>()] = std::move(item);
      comma = take(',');
    }
    return map;
  }

  Result<Json> word(int depth) {
    const std::size_t begin = m_at;
    while (ascii::is_alnum(peek()) || peek() == '_' || peek() == '.') {
      ++m_at;
    }
    const std::string_view name = m_text.substr(begin, m_at - begin);
    if (name == "True" || name == "False") return Json(name == "True");
    if (name == "None" || name == "nan" || name == "inf" || name == "NaN") return Json();
    const bool scalar = name.starts_with("np.") || name.starts_with("numpy.");
    if (scalar && take('(')) {
      WB_TRY_ASSIGN(Json inside, value(depth + 1));
      if (!take(')')) return fault("a bracket that never closes");
      return inside;
    }
    return fault(fmt::format("the name {} is no literal", printable(name, 40)));
  }

  Result<Json> number() {
    const bool negative = peek() == '-';
    if (negative && m_text.substr(m_at + 1, 3) == "inf") {
      m_at += 4;
      return Json();
    }
    if (peek() == '+') ++m_at;
    const std::size_t begin = m_at;
    while (m_at < m_text.size() &&
           (ascii::is_alnum(peek()) || peek() == '.' ||
            ((peek() == '-' || peek() == '+') &&
             (m_at == begin || m_text[m_at - 1] == 'e' || m_text[m_at - 1] == 'E')))) {
      ++m_at;
    }
    const std::string_view token = m_text.substr(begin, m_at - begin);
    const char* end = token.data() + token.size();
    std::int64_t whole = 0;
    if (const auto r = std::from_chars(token.data(), end, whole);
        r.ec == std::errc() && r.ptr == end && !token.empty()) {
      return Json(whole);
    }
    double real = 0;
    const auto [stop, failed] = std::from_chars(token.data(), end, real);
    // "1." is a Python number, too.
    if (failed != std::errc() || stop != end || token.empty() || !std::isfinite(real)) {
      return fault("no value");
    }
    return Json(real);
  }

  std::string_view m_text;
  std::size_t m_at = 0;
};

std::string quoted(const std::string& text) {
  const bool single = text.find('\'') == std::string::npos || text.find('"') != std::string::npos;
  const char quote = single ? '\'' : '"';
  std::string result(1, quote);
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == quote || c == '\\') result += '\\';
    result += c;
  }
  return result + quote;
}

}  // namespace

Result<Json> parse_python_literal(std::string_view text) {
  return LiteralReader(text).run();
}

std::string python_literal(const Json& value, bool tuples) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string()) return quoted(value.get_ref<const std::string&>());
  if (value.is_number_float()) return python_number(value.get<double>());
  if (value.is_object()) {
    std::string text = "{";
    for (const auto& [key, item] : value.items()) {
      text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", quoted(key),
                          python_literal(item, tuples));
    }
    return text + "}";
  }
  if (value.is_array()) {
    std::string text = tuples ? "(" : "[";
    for (const Json& item : value) {
      text += (text.size() > 1 ? ", " : "") + python_literal(item, tuples);
    }
    if (tuples && value.size() == 1) text += ",";
    return text + (tuples ? ")" : "]");
  }
  return value.dump();
}

}  // namespace wb::trace
