// SPDX-License-Identifier: MIT
// Private to playbook: the data flow of a Lua source, to find faults in branches that no dry run
// takes. Order and conditions are ignored: a value that may flow somewhere does.
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

namespace wb::playbook::lua {

/// A place that values flow to: a variable, a field, an expression's value. 0 is no place.
using Node = int;

/// A value that may flow: an index into Program::objects. 0 is an unknown value.
using ObjectId = int;

struct Object {
  enum class Kind { anything, wb, verb, record, table, function, library, string, iterator };
  Kind kind = Kind::anything;
  std::string name;  ///< of a verb, library function or record; a string's text
  /// Of a table, by constant key; of a record, its known fields.
  std::map<std::string, Node> fields;
  int file = 0;          ///< of a table: where it is made
  Node any = 0;          ///< of a table: values under other keys
  bool escaped = false;  ///< unknown code may have changed or called it
  // A table as its constructor gives it.
  struct Entry {
    int line = 0;
    std::optional<Json> constant;
  };
  std::map<std::string, Entry> entries;
  bool names_all = true;  ///< all keys are constant
  // A function.
  std::vector<Node> parameters, returns;
  std::vector<std::string> parameter_names;
  Node rest = 0;
};

struct Step {
  enum class Kind { copy, load, store, call, each };
  Kind kind = Kind::copy;
  /// copy: c = a. load: c = a[b]. store: a[b] = c. call: results = a(inputs). each: results = loop
  /// over a with state b.
  Node a = 0, b = 0, c = 0;
  std::vector<Node> inputs, results;
  int file = 0, line = 0, block = 0;
  std::string key;  ///< of load and store: the constant key, if any
  bool stores_nil = false;
  ObjectId direct_table = 0;  ///< of a call: the constructor written as its only argument
  int written = 0;            ///< of a call: number of arguments in its text
  bool expands = false;       ///< of a call: the last argument may give several values
};

/// Several sources, read one after the other.
struct Program {
  Program();
  std::vector<Object> objects;
  std::vector<std::vector<ObjectId>> flows;  ///< by node, sorted
  std::vector<Step> steps;
  std::vector<int> parent_of_block;  ///< -1: a function's own block
  std::vector<std::string> files;
  std::map<std::string, Node> modules;  ///< results of `require`, by name

  Node node();
  ObjectId object(Object made);
  /// A node that has this object.
  Node holding(ObjectId id);
  ObjectId string_object(const std::string& text);
  bool add(Node node, ObjectId id);  ///< false: it was already there
  Node field(ObjectId table, const std::string& key);
  Node global(const std::string& name);

 private:
  std::map<std::string, ObjectId> m_strings;
  std::map<std::string, Node> m_globals;
};

/// Adds a source; returns the value of its chunk. Errors: parse (syntax that this reader does not
/// support, with its line).
Result<Node> read_source(Program& program, const std::string& text, const std::string& name);

/// Propagates all values until nothing changes. `modules`: the sources that `require` finds, read
/// on demand. Errors: parse; limit (too much work for a playbook).
Result<void> propagate(Program& program, const std::map<std::string, std::string>& modules);

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

}  // namespace wb::playbook::lua
