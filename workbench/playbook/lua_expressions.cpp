// SPDX-License-Identifier: MIT
// The reader's expressions: values, operators, calls, functions and tables.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "playbook/lua_reader.hpp"

namespace wb::playbook::lua {
namespace {

struct BinaryOperator {
  std::string_view sign;
  int left, right;
};
constexpr std::array<BinaryOperator, 21> k_binary{{
    {"or", 1, 1},   {"and", 2, 2}, {"<", 3, 3},   {">", 3, 3},   {"<=", 3, 3},  {">=", 3, 3},
    {"~=", 3, 3},   {"==", 3, 3},  {"|", 4, 4},   {"~", 5, 5},   {"&", 6, 6},   {"<<", 7, 7},
    {">>", 7, 7},   {"..", 9, 8},  {"+", 10, 10}, {"-", 10, 10}, {"*", 11, 11}, {"/", 11, 11},
    {"//", 11, 11}, {"%", 11, 11}, {"^", 14, 13},
}};
constexpr int k_unary = 12;

Json number_of(const std::string& text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const char* const begin = text.data() + (is_hex ? 2 : 0);
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  const auto read = std::from_chars(begin, end, whole, is_hex ? 16 : 10);
  if (read.ec == std::errc() && read.ptr == end) return whole;
  double real = 0;
  std::from_chars(begin, end, real, is_hex ? std::chars_format::hex : std::chars_format::general);
  return real;
}

}  // namespace

std::vector<Value> Reader::expressions() {
  std::vector<Value> values{expression()};
  while (take(",")) values.push_back(expression());
  return values;
}

std::vector<Node> Reader::nodes_of(const std::vector<Value>& values, std::size_t wanted) {
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_open = i + 1 == values.size() && (values[i].call >= 0 || values[i].is_rest);
    if (!is_open) {
      nodes.push_back(values[i].node);
      continue;
    }
    nodes.push_back(values[i].node);
    while (nodes.size() < wanted) {
      if (values[i].is_rest) {
        nodes.push_back(values[i].node);
      } else {
        const Node more = m_program.node();
        m_program.steps[static_cast<std::size_t>(values[i].call)].results.push_back(more);
        nodes.push_back(more);
      }
    }
  }
  nodes.resize(std::max(nodes.size(), wanted), 0);
  return nodes;
}

Value Reader::expression(int limit) {
  const Deeper deeper(*this);
  Value left = unary();
  while (here().kind == Token::Kind::sign) {
    const auto found =
        std::find_if(k_binary.begin(), k_binary.end(),
                     [&](const BinaryOperator& op) { return op.sign == here().text; });
    if (found == k_binary.end() || found->left <= limit) break;
    ++m_at;
    const Value right = expression(found->right);
    Value joined{.node = m_program.node()};
    if (found->sign == "or" || found->sign == "and") {
      // The value of a in `a and b` is false or nil.
      if (found->sign == "or") copy(left.node, joined.node);
      copy(right.node, joined.node);
    } else {
      m_program.add(joined.node, 0);
    }
    left = joined;
  }
  return left;
}

Value Reader::unary() {
  for (const std::string_view sign : {"not", "-", "#", "~"}) {
    if (!take(sign)) continue;
    const Value operand = expression(k_unary);
    Value made = anything();
    if (sign == "-" && operand.constant && operand.constant->is_number_integer()) {
      made.constant = -operand.constant->get<std::int64_t>();
    } else if (sign == "-" && operand.constant && operand.constant->is_number()) {
      made.constant = -operand.constant->get<double>();
    }
    return made;
  }
  return simple();
}

Value Reader::simple() {
  const Token& token = here();
  if (token.kind == Token::Kind::number || token.kind == Token::Kind::string) {
    ++m_at;
    if (token.kind == Token::Kind::number) {
      Value value = anything();
      value.constant = number_of(token.text);
      return value;
    }
    return text_value(token.text);
  }
  if (take("nil")) return {.is_nil = true};
  if (is("true") || is("false")) {
    Value value = anything();
    value.constant = take("true");
    if (!*value.constant) need("false");
    return value;
  }
  if (take("...")) {
    const Object& own = m_program.objects[static_cast<std::size_t>(m_functions.back())];
    return {.node = own.rest, .is_rest = true};
  }
  if (is("{")) return constructor();
  if (take("function")) return function_body(false);
  return suffixed(nullptr);
}

Value Reader::text_value(const std::string& text) {
  return {.node = m_program.holding(m_program.string_object(text)), .constant = Json(text)};
}

Node Reader::load(Node object, const std::string& key, int line, Node key_node) {
  const Node result = m_program.node();
  Step& made = step(Step::Kind::load, line);
  made.a = object, made.b = key_node, made.c = result, made.key = key;
  return result;
}

void Reader::store(Node object, const std::string& key, const Value& value, int line,
                   Node key_node) {
  Step& made = step(Step::Kind::store, line);
  made.a = object, made.b = key_node, made.c = value.node, made.key = key;
  made.stores_nil = value.is_nil;
}

Value Reader::suffixed(std::vector<Target>* targets) {
  Value value;
  Target target;
  if (take("(")) {
    value = {.node = expression().node};
    need(")");
  } else {
    value.node = target.variable = variable(name());
  }
  while (true) {
    const int line = here().line;
    const bool is_call = is("(") || is("{") || here().kind == Token::Kind::string;
    if (is(".") || is("[")) {
      Target next{.object = value.node, .line = line};
      if (take(".")) {
        next.line = here().line;
        next.key = name();
      } else {
        need("[");
        const Value key = expression();
        need("]");
        if (key.constant && key.constant->is_string()) {
          next.key = key.constant->get<std::string>();
        } else {
          next.key_node = key.node == 0 ? m_program.holding(0) : key.node;
        }
      }
      target = next;
      const bool is_target = targets != nullptr && (is("=") || is(","));
      value = {.node = is_target ? 0 : load(next.object, next.key, next.line, next.key_node)};
    } else if (take(":")) {
      const Node self = value.node;
      const int at = here().line;
      const std::string key = name();
      value = call(load(self, key, at), self, at);
      target = {};
    } else if (is_call) {
      value = call(value.node, 0, line);
      target = {};
    } else {
      break;
    }
  }
  if (targets != nullptr) targets->push_back(target);
  return value;
}

Value Reader::call(Node function, Node self, int line) {
  std::vector<Value> values;
  if (here().kind == Token::Kind::string) {
    values.push_back(text_value(m_tokens[m_at++].text));
  } else if (is("{")) {
    values.push_back(constructor());
  } else {
    need("(");
    if (!is(")")) values = expressions();
    need(")");
  }
  const bool expands = !values.empty() && (values.back().call >= 0 || values.back().is_rest);
  std::vector<Node> inputs = nodes_of(values, expands ? values.size() + k_several : values.size());
  if (self != 0) inputs.insert(inputs.begin(), self);
  const Node result = m_program.node();
  Step& made = step(Step::Kind::call, line);
  made.a = function;
  made.inputs = std::move(inputs);
  made.results = {result};
  made.written = static_cast<int>(values.size()) + (self != 0 ? 1 : 0);
  made.expands = expands;
  if (values.size() == 1 && self == 0) made.direct_table = values[0].table;
  return {.node = result, .call = static_cast<int>(m_program.steps.size()) - 1};
}

Value Reader::function_body(bool is_method) {
  std::vector<std::string> parameters;
  if (is_method) parameters.emplace_back("self");
  need("(");
  while (!is(")")) {
    if (!take("...")) parameters.push_back(name());
    if (!take(",")) break;
  }
  need(")");
  const ObjectId id = in_function(parameters, [&] { block(); });
  need("end");
  return {.node = m_program.holding(id)};
}

Value Reader::constructor() {
  const Deeper deeper(*this);
  Object made;
  made.kind = Object::Kind::table;
  made.file = m_file;
  const ObjectId id = m_program.object(std::move(made));
  const Value table{.node = m_program.holding(id), .table = id};
  const auto self = [&]() -> Object& { return m_program.objects[static_cast<std::size_t>(id)]; };
  const Node any = m_program.node();
  self().any = any;
  need("{");
  while (!is("}")) {
    const int line = here().line;
    const bool is_named = here().kind == Token::Kind::name &&
                          m_tokens[m_at + 1].kind == Token::Kind::sign &&
                          m_tokens[m_at + 1].text == "=";
    if (is_named || is("[")) {
      std::string key;
      Node key_node = 0;
      if (is_named) {
        key = name();
      } else {
        need("[");
        const Value given = expression();
        need("]");
        if (given.constant && given.constant->is_string()) {
          key = given.constant->get<std::string>();
        } else {
          key_node = given.node == 0 ? m_program.holding(0) : given.node;
        }
      }
      need("=");
      const Value value = expression();
      if (key.empty()) {
        self().names_all = false;
        store(table.node, "", value, line, key_node);
      } else if (!value.is_nil) {
        self().entries[key] = {line, value.constant};
        copy(value.node, m_program.field(id, key));
      }
    } else {
      const std::vector<Node> nodes = nodes_of({expression()}, 1);
      copy(nodes[0], any);
      self().names_all = false;
    }
    if (!take(",") && !take(";")) break;
  }
  need("}");
  return table;
}

}  // namespace wb::playbook::lua
