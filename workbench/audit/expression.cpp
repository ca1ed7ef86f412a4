// SPDX-License-Identifier: MIT
#include "audit/expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "audit/document.hpp"

namespace wb::audit {
namespace {

constexpr int k_max_depth = 8;
constexpr std::size_t k_max_reach = 160;  ///< columns that an expression may span

/// Words that may stand behind a number without changing it.
constexpr std::array<std::string_view, 12> k_counted{"times",  "floats",  "elements", "queries",
                                                     "blocks", "threads", "heads",    "tiles",
                                                     "warps",  "SMs",     "rows",     "calls"};

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
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
      left->ranged = left->ranged || right->ranged;
    }
    return left;
  }

  std::optional<Expression> product(int depth) {
    auto left = operand(depth);
    while (left) {
      skip_spaces();
      const char sign = here();
      const bool times = sign == '*' || (sign == 'x' && !is_name(next_but_digit()));
      if (!times && (sign != '/' || next_but_digit() == '/')) break;
      ++m_at;
      const auto right = operand(depth);
      if (!right) return std::nullopt;
      left = times ? multiplied(*left, *right) : divided(*left, *right);
    }
    return left;
  }

  /// The character after the operator; digits count as a space, they begin an operand.
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
    left.operators += right.operators + 1;
    left.ranged = left.ranged || right.ranged;
    return left;
  }

  std::optional<Expression> operand(int depth) {
    skip_spaces();
    if (depth > k_max_depth) return std::nullopt;
    // "Q (8192 x 4)": a name in front of brackets says what they are.
    std::size_t name = m_at;
    while (name < m_text.size() && is_name(m_text[name])) ++name;
    if (name > m_at && std::isalpha(static_cast<unsigned char>(m_text[m_at])) != 0) {
      if (name + 1 >= m_text.size() || m_text[name] != ' ' || m_text[name + 1] != '(') {
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
          (m_at + 1 + word.size() >= m_text.size() || !is_name(m_text[m_at + 1 + word.size()]))) {
        m_at += 1 + word.size();
        return;
      }
    }
  }

  std::string_view m_text;
  std::size_t m_at;
};

/// An expression that begins here would be the tail of a longer one, or of a name.
bool is_tail(std::string_view plain, std::size_t begin) {
  if (begin == 0) return false;
  if (is_name(plain[begin - 1]) || plain[begin - 1] == '.' || plain[begin - 1] == '$') return true;
  std::size_t at = begin;
  while (at > 0 && plain[at - 1] == ' ') --at;
  if (at == 0) return false;
  const char before = plain[at - 1];
  if (before == 'x' || before == '*') {
    return before == '*' || at < 2 || !std::isalpha(static_cast<unsigned char>(plain[at - 2]));
  }
  if (before == '/') return at < 2 || plain[at - 2] != '/';
  return before == '+' || before == '-' || before == '>' || before == '=' || before == '<' ||
         before == '^' || before == '(' || before == '@' || before == '%';
}

}  // namespace

std::optional<Expression> expression_before(std::string_view plain, std::size_t end) {
  const std::size_t from = end > k_max_reach ? end - k_max_reach : 0;
  for (std::size_t at = from; at < end; ++at) {
    const char c = plain[at];
    const bool begins = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '(' || c == '$';
    if (!begins || is_tail(plain, at)) continue;
    auto found = Parser(plain, at, end).whole();
    if (!found || found->operators == 0) continue;
    found->text = trimmed(plain.substr(at, end - at));
    return found;
  }
  return std::nullopt;
}

std::optional<Interval> in_unit(const Expression& computed, Unit printed) {
  if (computed.unit == printed) return computed.value;
  if (computed.unit == Unit::none || computed.unit == Unit::factor) {
    if (printed == Unit::percent) return computed.value * Interval{100, 100};
    if (printed == Unit::factor || printed == Unit::none) return computed.value;
    if (computed.unit == Unit::none && (printed == Unit::bytes || printed == Unit::flops)) {
      return computed.value;
    }
  }
  return std::nullopt;
}

}  // namespace wb::audit
