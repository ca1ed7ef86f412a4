// SPDX-License-Identifier: MIT
#include "audit/expression.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/document.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

constexpr int k_max_depth = 8;
constexpr double k_max_power = 64;
constexpr std::size_t k_max_reach = 160;  ///< characters that an expression may span

/// Words that may follow a number without changing it.
constexpr std::array<std::string_view, 12> k_counted{"times",  "floats",  "elements", "queries",
                                                     "blocks", "threads", "heads",    "tiles",
                                                     "warps",  "SMs",     "rows",     "calls"};

bool is_word_letter(char c) {
  return ascii::is_alnum(c) || c == '_';
}

class Parser {
 public:
  Parser(std::string_view text, std::size_t at, std::size_t end)
      : m_text(text.substr(0, end)), m_at(at) {}

  std::optional<Expression> whole() {
    auto value = sum(0);
    skip_spaces();
    if (!value || m_at != m_text.size()) return std::nullopt;
    return value;
  }

 private:
  void skip_spaces() {
    while (m_at < m_text.size() && m_text[m_at] == ' ') ++m_at;
  }
  char here() const { return m_at < m_text.size() ? m_text[m_at] : '\0'; }

  std::optional<Expression> sum(int depth) {
    auto left = product(depth);
    while (left) {
      skip_spaces();
      const char sign = here();
      if (sign != '+' && sign != '-') break;
      ++m_at;
      const auto right = product(depth);
      if (!right || right->unit != left->unit) return std::nullopt;
      left->value = sign == '+' ? left->value + right->value : left->value - right->value;
      left->operators += right->operators + 1;
      left->summed = true;
      left->ranged = left->ranged || right->ranged;
      left->divided = left->divided || right->divided;
    }
    return left;
  }

  std::optional<Expression> product(int depth) {
    auto left = power(depth);
    while (left) {
      skip_spaces();
      const char sign = here();
      const bool times = sign == '*' || (sign == 'x' && !is_word_letter(next_but_digit()));
      if (!times && (sign != '/' || next_but_digit() == '/')) break;
      ++m_at;
      const auto right = power(depth);
      if (!right) return std::nullopt;
      left = times ? multiplied(*left, *right) : divided(*left, *right);
    }
    return left;
  }

  /// The character after the operator; a digit is returned as a space because it begins an operand.
  char next_but_digit() const {
    const char next = m_at + 1 < m_text.size() ? m_text[m_at + 1] : ' ';
    return next >= '0' && next <= '9' ? ' ' : next;
  }

  static std::optional<Expression> multiplied(Expression left, const Expression& right) {
    if (left.unit != Unit::none && right.unit != Unit::none &&
        !(left.unit == Unit::factor && right.unit == Unit::factor)) {
      if (left.unit != Unit::factor && right.unit != Unit::factor) return std::nullopt;
    }
    left.value = left.value * right.value;
    if (left.unit == Unit::none || left.unit == Unit::factor) {
      left.unit = right.unit == Unit::none ? left.unit : right.unit;
    }
    left.operators += right.operators + 1;
    left.ranged = left.ranged || right.ranged;
    left.divided = left.divided || right.divided;
    left.summed = left.summed || right.summed;
    return left;
  }

  static std::optional<Expression> divided(Expression left, const Expression& right) {
    const auto quotient = divide(left.value, right.value);
    if (!quotient) return std::nullopt;
    if (left.unit == right.unit) {
      left.unit = left.unit == Unit::factor ? Unit::factor : Unit::none;
    } else if (left.unit == Unit::bytes && right.unit == Unit::time) {
      left.unit = Unit::byte_rate;
    } else if (left.unit == Unit::flops && right.unit == Unit::time) {
      left.unit = Unit::flop_rate;
    } else if (left.unit == Unit::flops && right.unit == Unit::bytes) {
      left.unit = Unit::intensity;
    } else if (right.unit != Unit::none && right.unit != Unit::factor) {
      return std::nullopt;
    }
    left.value = *quotient;
    left.divided = true;
    left.summed = left.summed || right.summed;
    left.operators += right.operators + 1;
    left.ranged = left.ranged || right.ranged;
    return left;
  }

  /// Reads whole exponents of plain numbers: "2048^3", "(2 x 64)^2".
  std::optional<Expression> power(int depth) {
    auto base = operand(depth);
    skip_spaces();
    if (!base || here() != '^') return base;
    ++m_at;
    skip_spaces();
    const auto exponent = figure_at("= " + std::string(m_text.substr(m_at)), 2);
    if (!exponent || exponent->unit != Unit::none || exponent->step != 1 || exponent->is_range ||
        exponent->value > k_max_power || base->unit != Unit::none || base->value.low < 0) {
      return std::nullopt;
    }
    m_at += exponent->end - 2;
    if (here() == '^') return std::nullopt;
    base->value = {std::pow(base->value.low, exponent->value),
                   std::pow(base->value.high, exponent->value)};
    base->operators += 1;
    return base;
  }

  std::optional<Expression> operand(int depth) {
    skip_spaces();
    if (depth > k_max_depth) return std::nullopt;
    // "Q (8192 x 4)": a name before brackets names their content.
    std::size_t name = m_at;
    while (name < m_text.size() && is_word_letter(m_text[name])) ++name;
    if (name > m_at && ascii::is_alpha(m_text[m_at])) {
      const bool times = name == m_at + 1 && m_text[m_at] == 'x';  // "7 days x (0.58 - 0.48)"
      if (times || name + 1 >= m_text.size() || m_text[name] != ' ' || m_text[name + 1] != '(') {
        return std::nullopt;
      }
      m_at = name + 1;
    }
    if (here() == '(') {
      ++m_at;
      auto inner = sum(depth + 1);
      skip_spaces();
      if (!inner || here() != ')') return std::nullopt;
      ++m_at;
      return inner;
    }
    const auto figure = figure_at(m_text, m_at);
    if (!figure || figure->bounded) return std::nullopt;
    // "(25-23)/23": a difference, not a range.
    if (figure->is_range && depth > 0 && figure->unit == Unit::none) return std::nullopt;
    m_at = figure->end;
    skip_counted();
    Expression value;
    value.value = {figure->operand().low, figure->operand(true).high};
    // Factors are chosen, not measured: "2x" means 2.
    if (figure->unit == Unit::factor) value.value = {figure->value, figure->high};
    value.unit = figure->unit;
    value.ranged = figure->is_range;
    return value;
  }

  void skip_counted() {
    for (const std::string_view word : k_counted) {
      if (m_text.substr(m_at).starts_with(" ") && m_text.substr(m_at + 1).starts_with(word) &&
          (m_at + 1 + word.size() >= m_text.size() ||
           !is_word_letter(m_text[m_at + 1 + word.size()]))) {
        m_at += 1 + word.size();
        return;
      }
    }
  }

  std::string_view m_text;
  std::size_t m_at;
};

/// Functions whose name may precede a number.
constexpr std::array<std::string_view, 15> k_functions{"sqrt", "log",  "log2", "log10", "ln",
                                                       "exp",  "max",  "min",  "ceil",  "floor",
                                                       "sum",  "mean", "avg",  "to",    "of"};

/// Whether an expression that begins at `begin` would be the tail of a longer one or of a name,
/// which must not be read in part.
bool is_tail(std::string_view plain, std::size_t begin) {
  if (begin == 0) return false;
  const char next = plain[begin - 1];
  if (is_word_letter(next) || next == '.' || next == '$' || next == ',') return true;
  std::size_t at = begin;
  while (at > 0 && plain[at - 1] == ' ') --at;
  if (at == 0) return false;
  const char before = plain[at - 1];
  if (is_word_letter(before)) {
    std::size_t word = at;
    while (word > 0 && is_word_letter(plain[word - 1])) --word;
    std::string name(plain.substr(word, at - word));
    std::transform(name.begin(), name.end(), name.begin(), ascii::lower);
    const bool number = ascii::is_digit(name[0]);
    const bool command = word > 0 && plain[word - 1] == '\\';  // "16 \cdot 512"
    return number || command || name == "x" ||
           std::find(k_functions.begin(), k_functions.end(), name) != k_functions.end();
  }
  if (before == '=') {
    constexpr std::string_view k_more = "=<>!+-*/~";
    return at >= 2 && k_more.find(plain[at - 2]) != std::string_view::npos;
  }
  if (before == '/') return at < 2 || plain[at - 2] != '/';
  constexpr std::string_view k_unread = "*+->=<^(@%)]?~&";
  return k_unread.find(before) != std::string_view::npos;
}

}  // namespace

std::optional<Expression> expression_before(std::string_view plain, std::size_t end) {
  const std::size_t from = end > k_max_reach ? end - k_max_reach : 0;
  for (std::size_t at = from; at < end; ++at) {
    const char c = plain[at];
    const bool begins = ascii::is_alnum(c) || c == '(' || c == '$';
    if (!begins || is_tail(plain, at)) continue;
    auto found = Parser(plain, at, end).whole();
    if (!found) continue;
    if (found->operators == 0) continue;
    found->text = trimmed(plain.substr(at, end - at));
    found->begin = at;
    return found;
  }
  return std::nullopt;
}

std::optional<Interval> in_unit(const Expression& computed, Unit printed) {
  if (computed.unit == printed) return computed.value;
  if (computed.unit == Unit::none || computed.unit == Unit::factor) {
    if (printed == Unit::percent) return computed.value * Interval{100, 100};
    // "32x32x32 = 8x more": a product of plain numbers is not a factor; a quotient may be one.
    const bool has_point = computed.text.find('.') != std::string::npos;  // "2 x 1.3 = 2.6x"
    if (printed == Unit::factor && computed.unit == Unit::none && !computed.divided && !has_point) {
      return std::nullopt;
    }
    if (printed == Unit::factor || printed == Unit::none) return computed.value;
    if (computed.unit == Unit::none && (printed == Unit::bytes || printed == Unit::flops)) {
      return computed.value;
    }
  }
  return std::nullopt;
}

}  // namespace wb::audit
