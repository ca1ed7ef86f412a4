// SPDX-License-Identifier: MIT
// A recursive-descent parser with a depth limit, and an evaluator with checked arithmetic.
#include "variant/restriction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

namespace wb::variant {

namespace {

constexpr std::size_t k_restriction_max_bytes = 1024;
constexpr int k_depth_max = 64;

enum class Op {
  number,
  name,
  negate,
  logical_not,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or
};

struct Token {
  std::string_view word;
  Op op;
};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_number_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_number_digit(c);
}

Error invalid(std::string cause) {
  return Error{ErrorCode::invalid, "evaluate a restriction", "", std::move(cause), ""};
}

}  // namespace

struct Restriction::Node {
  Op op = Op::number;
  std::int64_t number = 0;
  std::string name;
  std::unique_ptr<Node> left, right;

  using Values = std::map<std::string, std::int64_t>;
  [[nodiscard]] Result<std::int64_t> value(const Values& values) const;
  [[nodiscard]] Result<std::int64_t> logical(const Values& values) const;
  [[nodiscard]] Result<std::int64_t> arithmetic(std::int64_t a, std::int64_t b) const;
  void collect(std::set<std::string>& names) const;
};

Result<std::int64_t> Restriction::Node::value(const Values& values) const {
  switch (op) {
    case Op::number:
      return number;
    case Op::name: {
      const auto found = values.find(name);
      if (found == values.end()) return invalid("unknown name " + name);
      return found->second;
    }
    case Op::logical_and:
    case Op::logical_or:
      return logical(values);
    case Op::logical_not: {
      WB_TRY_ASSIGN(const std::int64_t a, left->value(values));
      return std::int64_t{a == 0};
    }
    case Op::negate: {
      WB_TRY_ASSIGN(const std::int64_t a, left->value(values));
      std::int64_t result = 0;
      if (__builtin_sub_overflow(std::int64_t{0}, a, &result)) return invalid("overflow");
      return result;
    }
    default: {
      WB_TRY_ASSIGN(const std::int64_t a, left->value(values));
      WB_TRY_ASSIGN(const std::int64_t b, right->value(values));
      return arithmetic(a, b);
    }
  }
}

Result<std::int64_t> Restriction::Node::logical(const Values& values) const {
  WB_TRY_ASSIGN(const std::int64_t a, left->value(values));
  const bool decided = op == Op::logical_and ? a == 0 : a != 0;
  if (decided) return std::int64_t{a != 0};
  WB_TRY_ASSIGN(const std::int64_t b, right->value(values));
  return std::int64_t{b != 0};
}

Result<std::int64_t> Restriction::Node::arithmetic(std::int64_t a, std::int64_t b) const {
  std::int64_t result = 0;
  switch (op) {
    case Op::add:
      if (__builtin_add_overflow(a, b, &result)) return invalid("overflow in +");
      return result;
    case Op::subtract:
      if (__builtin_sub_overflow(a, b, &result)) return invalid("overflow in -");
      return result;
    case Op::multiply:
      if (__builtin_mul_overflow(a, b, &result)) return invalid("overflow in *");
      return result;
    case Op::divide:
    case Op::remainder:
      if (b == 0) return invalid("division by zero");
      // INT64_MIN / -1 traps on x86.
      if (b == -1)
        return op == Op::remainder ? Result<std::int64_t>(0) : [&] {
          if (__builtin_sub_overflow(std::int64_t{0}, a, &result)) {
            return Result<std::int64_t>(invalid("overflow in /"));
          }
          return Result<std::int64_t>(result);
        }();
      return op == Op::divide ? a / b : a % b;
    case Op::equal:
      return std::int64_t{a == b};
    case Op::not_equal:
      return std::int64_t{a != b};
    case Op::less:
      return std::int64_t{a < b};
    case Op::less_equal:
      return std::int64_t{a <= b};
    case Op::greater:
      return std::int64_t{a > b};
    case Op::greater_equal:
      return std::int64_t{a >= b};
    default:
      return invalid("internal: not an operator of two numbers");
  }
}

void Restriction::Node::collect(std::set<std::string>& names) const {
  if (op == Op::name) names.insert(name);
  if (left) left->collect(names);
  if (right) right->collect(names);
}

/// One instance per parse() call.
class RestrictionParser {
 public:
  using Node = Restriction::Node;
  using NodePtr = std::unique_ptr<Node>;
  explicit RestrictionParser(std::string_view text) : m_text(text) {}

  Result<Restriction> run() {
    if (m_text.size() > k_restriction_max_bytes) return fail("longer than 1024 bytes");
    WB_TRY_ASSIGN(NodePtr root, disjunction(0));
    skip_spaces();
    if (m_at != m_text.size()) return fail("unexpected text");
    return Restriction(std::move(root));
  }

 private:
  [[nodiscard]] Error fail(std::string_view why) const {
    return Error{ErrorCode::parse, "parse the restriction", std::string(m_text),
                 std::string(why) + " at column " + fmt::to_string(m_at + 1),
                 "use integers, names, + - * / %, one comparison, &&, ||, ! and parentheses"};
  }
  void skip_spaces() {
    while (m_at < m_text.size() && is_space(m_text[m_at])) ++m_at;
  }
  /// Takes the first matching token; longer tokens come first in each list.
  const Token* take(std::span<const Token> tokens) {
    skip_spaces();
    for (const Token& token : tokens) {
      if (m_text.substr(m_at).starts_with(token.word)) {
        m_at += token.word.size();
        return &token;
      }
    }
    return nullptr;
  }
  static NodePtr node(Op op, NodePtr left, NodePtr right) {
    auto made = std::make_unique<Node>();
    made->op = op;
    made->left = std::move(left);
    made->right = std::move(right);
    return made;
  }
  template <typename Next>
  Result<NodePtr> left_associative(std::span<const Token> tokens, int depth, Next next) {
    WB_TRY_ASSIGN(NodePtr left, (this->*next)(depth));
    // The tree leans left, one level per operator, so a chain counts against the depth limit:
    // evaluation and destruction recurse that deep.
    while (const Token* token = take(tokens)) {
      if (++m_operators > 256) return fail("more than 256 operators");
      WB_TRY_ASSIGN(NodePtr right, (this->*next)(depth));
      left = node(token->op, std::move(left), std::move(right));
    }
    return left;
  }
  Result<NodePtr> disjunction(int depth) {
    if (depth > k_depth_max) return fail("nested too deeply");
    static constexpr std::array<Token, 1> k_tokens = {{{"||", Op::logical_or}}};
    return left_associative(k_tokens, depth, &RestrictionParser::conjunction);
  }
  Result<NodePtr> conjunction(int depth) {
    static constexpr std::array<Token, 1> k_tokens = {{{"&&", Op::logical_and}}};
    return left_associative(k_tokens, depth, &RestrictionParser::comparison);
  }
  Result<NodePtr> comparison(int depth) {
    static constexpr std::array<Token, 6> k_tokens = {{{"==", Op::equal},
                                                       {"!=", Op::not_equal},
                                                       {"<=", Op::less_equal},
                                                       {">=", Op::greater_equal},
                                                       {"<", Op::less},
                                                       {">", Op::greater}}};
    WB_TRY_ASSIGN(NodePtr left, sum(depth));
    const Token* token = take(k_tokens);
    if (token == nullptr) return left;
    WB_TRY_ASSIGN(NodePtr right, sum(depth));
    // a < b < c would compare a truth value with c, which is never intended.
    if (take(k_tokens) != nullptr) return fail("two comparisons in a row need &&");
    return node(token->op, std::move(left), std::move(right));
  }
  Result<NodePtr> sum(int depth) {
    static constexpr std::array<Token, 2> k_tokens = {{{"+", Op::add}, {"-", Op::subtract}}};
    return left_associative(k_tokens, depth, &RestrictionParser::product);
  }
  Result<NodePtr> product(int depth) {
    static constexpr std::array<Token, 3> k_tokens = {
        {{"*", Op::multiply}, {"/", Op::divide}, {"%", Op::remainder}}};
    return left_associative(k_tokens, depth, &RestrictionParser::unary);
  }
  Result<NodePtr> unary(int depth) {
    if (depth > k_depth_max) return fail("nested too deeply");
    skip_spaces();
    if (m_at >= m_text.size()) return fail("a value is missing");
    const char c = m_text[m_at];
    if (c == '!' || c == '-') {
      ++m_at;
      WB_TRY_ASSIGN(NodePtr operand, unary(depth + 1));
      return node(c == '!' ? Op::logical_not : Op::negate, std::move(operand), nullptr);
    }
    if (c == '(') {
      ++m_at;
      WB_TRY_ASSIGN(NodePtr inner, disjunction(depth + 1));
      skip_spaces();
      if (m_at >= m_text.size() || m_text[m_at] != ')') return fail("a ) is missing");
      ++m_at;
      return inner;
    }
    return is_number_digit(c) ? number() : name();
  }
  Result<NodePtr> number() {
    auto made = std::make_unique<Node>();
    while (m_at < m_text.size() && is_name_char(m_text[m_at])) {
      const char c = m_text[m_at];
      if (!is_number_digit(c)) return fail("not an integer");
      if (__builtin_mul_overflow(made->number, std::int64_t{10}, &made->number) ||
          __builtin_add_overflow(made->number, std::int64_t{c - '0'}, &made->number)) {
        return fail("a number above 2^63");
      }
      ++m_at;
    }
    return made;
  }
  Result<NodePtr> name() {
    const std::size_t begin = m_at;
    while (m_at < m_text.size() && is_name_char(m_text[m_at])) ++m_at;
    if (m_at == begin) return fail("a value is missing");
    auto made = std::make_unique<Node>();
    made->op = Op::name;
    made->name = std::string(m_text.substr(begin, m_at - begin));
    return made;
  }

  std::string_view m_text;
  std::size_t m_at = 0;
  int m_operators = 0;
};

Restriction::Restriction(std::unique_ptr<Node> root) : m_root(std::move(root)) {}
Restriction::Restriction(Restriction&&) noexcept = default;
Restriction& Restriction::operator=(Restriction&&) noexcept = default;
Restriction::~Restriction() = default;

Result<Restriction> Restriction::parse(std::string_view text) {
  return RestrictionParser(text).run();
}

Result<std::int64_t> Restriction::value(const std::map<std::string, std::int64_t>& values) const {
  return m_root->value(values);
}

Result<bool> Restriction::holds(const std::map<std::string, std::int64_t>& values) const {
  WB_TRY_ASSIGN(const std::int64_t value, m_root->value(values));
  return value != 0;
}

std::vector<std::string> Restriction::names() const {
  std::set<std::string> names;
  m_root->collect(names);
  return {names.begin(), names.end()};
}

}  // namespace wb::variant
