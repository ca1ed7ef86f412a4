// SPDX-License-Identifier: MIT
// Private to playbook: reads a Lua source into the steps of a Program.
#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "playbook/lua_program.hpp"

namespace wb::playbook::lua {

/// Adds a source; returns the value of its chunk. Errors: parse (syntax that this reader does not
/// support, with its line).
Result<Node> read_source(Program& program, const std::string& text, const std::string& name);

// The state of a reader of Lua: its tokens, the names in scope, the enclosing blocks and functions,
// and the steps that it writes.

struct Token {
  enum class Kind { name, string, number, sign, end };  ///< keywords are signs
  Kind kind = Kind::end;
  std::string text;  ///< for a string its content
  int line = 0;
};

/// The last token is `end`. Errors: parse.
Result<std::vector<Token>> tokens_of(const std::string& text, const std::string& name);

struct SyntaxFault {
  int line;
  std::string what;
};

/// The result of an expression.
struct Value {
  Node node = 0;
  int call = -1;         ///< the step, if it is a call, which may give several values
  bool is_rest = false;  ///< `...`
  bool is_nil = false;
  ObjectId table = 0;  ///< of a constructor
  std::optional<Json> constant = {};
};

class Scopes {
 protected:
  static constexpr int k_max_depth = 400;  // twice Lua's own limit

  Scopes(Program& program, std::vector<Token> tokens, int file)
      : m_program(program), m_tokens(std::move(tokens)), m_file(file) {}

  [[nodiscard]] const Token& here() const { return m_tokens[m_at]; }
  [[nodiscard]] bool is(std::string_view sign) const {
    return here().kind == Token::Kind::sign && here().text == sign;
  }
  bool take(std::string_view sign) {
    if (!is(sign)) return false;
    ++m_at;
    return true;
  }
  [[noreturn]] void refuse(const std::string& wanted) const {
    throw SyntaxFault{here().line,
                      fmt::format("{} where {} belongs", printable(here().text, 40), wanted)};
  }
  void need(std::string_view sign) {
    if (!take(sign)) refuse(std::string(sign));
  }
  std::string name() {
    if (here().kind != Token::Kind::name) refuse("a name");
    return m_tokens[m_at++].text;
  }

  Step& step(Step::Kind kind, int line) {
    Step made;
    made.kind = kind;
    made.file = m_file;
    made.line = line;
    made.block = m_block;
    return m_program.steps.emplace_back(std::move(made));
  }
  void copy(Node from, Node to) {
    if (from == 0 || to == 0) return;
    Step& made = step(Step::Kind::copy, here().line);
    made.a = from, made.c = to;
  }
  Value anything() { return {.node = m_program.holding(0)}; }

  Node returned(ObjectId function, std::size_t index) {
    while (m_program.objects[static_cast<std::size_t>(function)].returns.size() <= index) {
      const Node made = m_program.node();
      m_program.objects[static_cast<std::size_t>(function)].returns.push_back(made);
    }
    return m_program.objects[static_cast<std::size_t>(function)].returns[index];
  }

  // Names.
  Node declare(const std::string& variable) {
    const Node made = m_program.node();
    m_scopes.back()[variable] = made;
    return made;
  }
  Node variable(const std::string& wanted) {
    for (auto scope = m_scopes.rbegin(); scope != m_scopes.rend(); ++scope) {
      if (const auto found = scope->find(wanted); found != scope->end()) return found->second;
    }
    return m_program.global(wanted);
  }

  template <typename Body>
  void in_block(int parent, Body body) {
    const int outer = std::exchange(m_block, static_cast<int>(m_program.parent_of_block.size()));
    m_program.parent_of_block.push_back(parent);
    m_scopes.emplace_back();
    body();
    m_scopes.pop_back();
    m_block = outer;
  }
  template <typename Body>
  ObjectId in_function(const std::vector<std::string>& parameters, Body body) {
    Object made;
    made.kind = Object::Kind::function;
    made.parameter_names = parameters;
    made.rest = m_program.node();
    const ObjectId id = m_program.object(std::move(made));
    m_functions.push_back(id);
    in_block(-1, [&] {
      for (const std::string& parameter : parameters) {
        const Node node = declare(parameter);
        m_program.objects[static_cast<std::size_t>(id)].parameters.push_back(node);
      }
      body();
    });
    m_functions.pop_back();
    return id;
  }

  struct Deeper {
    explicit Deeper(Scopes& reader) : m_reader(reader) {
      if (++m_reader.m_depth > k_max_depth) m_reader.refuse("something less nested");
    }
    ~Deeper() { --m_reader.m_depth; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Scopes& m_reader;
  };

  Program& m_program;
  std::vector<Token> m_tokens;
  std::size_t m_at = 0;
  int m_file, m_block = -1, m_depth = 0;
  std::vector<std::map<std::string, Node>> m_scopes;
  std::vector<ObjectId> m_functions;
};

/// By recursive descent over the grammar of Lua 5.4: lua_reader.cpp has the statements, and
/// lua_expressions.cpp the expressions.
class Reader : private Scopes {
 public:
  Reader(Program& program, std::vector<Token> tokens, int file)
      : Scopes(program, std::move(tokens), file) {}

  /// The whole source. Throws SyntaxFault.
  Node chunk();

 private:
  /// How many values of an open-ended list are tracked.
  static constexpr std::size_t k_several = 6;

  // Statements.
  [[nodiscard]] bool block_ends() const;
  void block();
  void inner_block();
  void give_back();
  void statement();
  void condition();
  void loop();
  void named_function();
  void local();
  /// What an assignment writes to: a variable, or a field of an object.
  struct Target {
    Node variable = 0, object = 0, key_node = 0;
    std::string key = {};
    int line = 0;
  };
  void assignment();

  // Expressions.
  std::vector<Value> expressions();
  /// `wanted` nodes; the last expression may give several.
  std::vector<Node> nodes_of(const std::vector<Value>& values, std::size_t wanted);
  Value expression(int limit = 0);
  Value unary();
  Value simple();
  Value text_value(const std::string& text);
  Node load(Node object, const std::string& key, int line, Node key_node = 0);
  void store(Node object, const std::string& key, const Value& value, int line, Node key_node = 0);
  /// A name or parenthesis with its suffixes; with `targets`, not the last before an assignment.
  Value suffixed(std::vector<Target>* targets);
  Value call(Node function, Node self, int line);
  Value function_body(bool is_method);
  Value constructor();
};

}  // namespace wb::playbook::lua
