// SPDX-License-Identifier: MIT
// Data flow in a Program: applies the steps until nothing changes.
#include "playbook/lua_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "playbook/lua_reader.hpp"

namespace wb::playbook::lua {
namespace {

constexpr std::size_t k_max_work = 20'000'000;

using Kind = Object::Kind;

/// Library functions that store none of their arguments and call none.
constexpr std::array<std::string_view, 24> k_plain{
    "print",        "tostring",     "tonumber",       "type",          "error",
    "rawequal",     "rawlen",       "string.format",  "string.rep",    "string.sub",
    "string.lower", "string.upper", "string.len",     "string.byte",   "string.find",
    "string.match", "table.concat", "math.floor",     "math.max",      "math.min",
    "math.log",     "math.exp",     "math.tointeger", "collectgarbage"};
constexpr std::array<std::string_view, 14> k_functions{
    "print", "tostring", "tonumber",     "type",   "error",  "rawequal", "rawlen",
    "pcall", "xpcall",   "setmetatable", "assert", "ipairs", "pairs",    "require"};
constexpr std::array<std::string_view, 3> k_libraries{"string", "table", "math"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

class Flow {
 public:
  Flow(Program& program, const std::map<std::string, std::string>& modules)
      : m_program(program), m_modules(modules) {}

  Result<void> run() {
    do {
      m_changed = false;
      for (std::size_t i = 0; i < m_program.steps.size(); ++i) apply(i);
      for (std::size_t i = 0; i < m_program.objects.size(); ++i) {
        if (at(static_cast<ObjectId>(i)).escaped) spread(static_cast<ObjectId>(i));
      }
      if (!m_fault.ok()) return m_fault;
      if (m_work > k_max_work) {
        return Error{ErrorCode::limit, "follow", "the playbook", "it is too large", ""};
      }
    } while (m_changed);
    return {};
  }

 private:
  Object& at(ObjectId id) { return m_program.objects[static_cast<std::size_t>(id)]; }
  /// Returns a copy; values added meanwhile are handled in the next round.
  std::vector<ObjectId> in(Node node) {
    ++m_work;
    return m_program.flows[static_cast<std::size_t>(node)];
  }
  void put(Node node, ObjectId id) {
    ++m_work;
    if (node != 0 && m_program.add(node, id)) m_changed = true;
  }
  void move(Node from, Node to) {
    if (from == 0 || to == 0 || from == to) return;
    for (const ObjectId id : in(from)) put(to, id);
  }
  void anything(const std::vector<Node>& nodes) {
    for (const Node node : nodes) put(node, 0);
  }
  void escape(ObjectId id) {
    Object& object = at(id);
    if (object.escaped || (object.kind != Kind::table && object.kind != Kind::function)) return;
    object.escaped = true;
    m_changed = true;
  }
  void escape_all(Node node) {
    for (const ObjectId id : in(node)) escape(id);
  }
  /// For an object that reaches unknown code, which may call it, store values in it and read its
  /// fields.
  void spread(ObjectId id) {
    const Object object = at(id);
    anything(object.parameters);
    put(object.rest, 0);
    put(object.any, 0);
    for (const Node node : object.returns) escape_all(node);
    for (const auto& [key, node] : object.fields) escape_all(node);
    if (object.any != 0) escape_all(object.any);
  }

  std::vector<std::string> keys_of(const Step& step, bool& has_others) {
    std::vector<std::string> keys;
    if (step.b == 0) return {step.key};
    for (const ObjectId id : in(step.b)) {
      if (at(id).kind == Kind::string) {
        keys.push_back(at(id).name);
      } else {
        has_others = true;
      }
    }
    return keys;
  }

  void elements(ObjectId table, Node to) {
    const Object object = at(table);
    move(object.any, to);
    for (const auto& [key, node] : object.fields) move(node, to);
  }

  void load(const Step& step) {
    bool has_others = false;
    const std::vector<std::string> keys = keys_of(step, has_others);
    for (const ObjectId id : in(step.a)) {
      const Kind kind = at(id).kind;
      if (kind == Kind::table) {
        for (const std::string& key : keys) move(m_program.field(id, key), step.c);
        move(at(id).any, step.c);
        if (has_others) elements(id, step.c);
      } else if (kind == Kind::wb || kind == Kind::record) {
        for (const std::string& key : keys) {
          const auto found = at(id).fields.find(key);
          if (found != at(id).fields.end()) move(found->second, step.c);
        }
        if (has_others || kind == Kind::record) put(step.c, 0);
      } else if (kind == Kind::library && contains(k_libraries, at(id).name)) {
        for (const std::string& key : keys) put(step.c, library(at(id).name + "." + key));
        if (has_others) put(step.c, 0);
      } else if (kind != Kind::verb && kind != Kind::function) {
        put(step.c, 0);
      }
    }
  }

  void store(const Step& step) {
    bool has_others = false;
    const std::vector<std::string> keys = keys_of(step, has_others);
    for (const ObjectId id : in(step.a)) {
      const Kind kind = at(id).kind;
      if (kind == Kind::table) {
        for (const std::string& key : keys) move(step.c, m_program.field(id, key));
        if (has_others) move(step.c, at(id).any);
      } else if (kind == Kind::wb || kind == Kind::record) {
        for (const std::string& key : keys) {
          if (at(id).fields.contains(key)) continue;
          const Node made = m_program.node();
          at(id).fields[key] = made;
          m_changed = true;
        }
        for (const std::string& key : keys) move(step.c, at(id).fields.at(key));
      } else if (kind == Kind::anything) {
        escape_all(step.c);
      }
    }
  }

  void call(Node function, const std::vector<Node>& inputs, const std::vector<Node>& results) {
    for (const ObjectId id : in(function)) call_one(id, inputs, results);
  }

  void call_one(ObjectId id, const std::vector<Node>& inputs, const std::vector<Node>& results) {
    const Object object = at(id);
    switch (object.kind) {
      case Kind::function:
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          move(inputs[i], i < object.parameters.size() ? object.parameters[i] : object.rest);
        }
        for (std::size_t i = 0; i < results.size() && i < object.returns.size(); ++i) {
          move(object.returns[i], results[i]);
        }
        break;
      case Kind::verb:
        if (!results.empty()) put(results[0], object.fields.at("answer"));
        break;
      case Kind::library:
        call_library(object.name, inputs, results);
        break;
      default:
        for (const Node node : inputs) escape_all(node);
        anything(results);
    }
  }

  void call_library(const std::string& name, const std::vector<Node>& inputs,
                    const std::vector<Node>& results) {
    const auto input = [&](std::size_t i) { return i < inputs.size() ? inputs[i] : 0; };
    const auto result = [&](std::size_t i) { return i < results.size() ? results[i] : 0; };
    if (contains(k_plain, name)) {
      anything(results);
    } else if (name == "pcall" || name == "xpcall") {
      const std::size_t skipped = std::min<std::size_t>(name == "pcall" ? 1 : 2, inputs.size());
      put(result(0), 0);
      const std::vector<Node> rest(results.begin() + (results.empty() ? 0 : 1), results.end());
      call(input(0), {inputs.begin() + static_cast<std::ptrdiff_t>(skipped), inputs.end()}, rest);
      put(result(1), error_record());
      if (name == "xpcall") escape_all(input(1));
    } else if (name == "assert") {
      for (std::size_t i = 0; i < results.size(); ++i) move(input(i), results[i]);
    } else if (name == "setmetatable") {
      escape_all(input(0));
      escape_all(input(1));
      move(input(0), result(0));
    } else if (name == "ipairs" || name == "pairs") {
      put(result(0), iterator());
      move(input(0), result(1));
    } else if (name == "table.insert") {
      const Node value = inputs.size() > 2 ? input(2) : input(1);
      for (const ObjectId id : in(input(0))) {
        if (at(id).kind == Kind::table) move(value, at(id).any);
        if (at(id).kind == Kind::anything) escape_all(value);
      }
    } else if (name == "table.unpack" || name == "table.remove") {
      for (const Node node : results) {
        for (const ObjectId id : in(input(0))) {
          if (at(id).kind == Kind::table) elements(id, node);
          if (at(id).kind == Kind::anything) put(node, 0);
        }
      }
    } else if (name == "require") {
      for (const ObjectId id : in(input(0))) move(module(at(id)), result(0));
    } else {
      for (const Node node : inputs) escape_all(node);
      anything(results);
    }
  }

  void each(const Step& step) {
    for (const ObjectId id : in(step.a)) {
      if (at(id).kind != Kind::iterator) {
        call_one(id, {}, step.results);
        continue;
      }
      put(step.results[0], 0);
      if (step.results.size() < 2) continue;
      for (const ObjectId table : in(step.b)) {
        if (at(table).kind == Kind::table) {
          elements(table, step.results[1]);
        } else {
          put(step.results[1], 0);
        }
      }
    }
  }

  void apply(std::size_t index) {
    const Step step = m_program.steps[index];  // modules may add steps meanwhile
    switch (step.kind) {
      case Step::Kind::copy:
        return move(step.a, step.c);
      case Step::Kind::load:
        return load(step);
      case Step::Kind::store:
        return store(step);
      case Step::Kind::call:
        return call(step.a, step.inputs, step.results);
      case Step::Kind::each:
        return each(step);
    }
  }

  Node module(const Object& asked) {
    if (asked.kind != Kind::string) return m_program.holding(0);
    if (const auto known = m_program.modules.find(asked.name); known != m_program.modules.end())
      return known->second;
    const auto source = m_modules.find(asked.name);
    if (source == m_modules.end()) return m_program.modules[asked.name] = m_program.holding(0);
    const std::string name = asked.name;
    auto node = read_source(m_program, source->second, name + ".lua");
    if (!node) m_fault = node.error();
    m_changed = true;
    return m_program.modules[name] = node ? *node : m_program.holding(0);
  }

  ObjectId library(const std::string& name) {
    if (const auto known = m_library.find(name); known != m_library.end()) return known->second;
    Object made;
    made.kind = Kind::library;
    made.name = name;
    return m_library[name] = m_program.object(std::move(made));
  }
  ObjectId iterator() {
    if (m_iterator == 0) {
      Object made;
      made.kind = Kind::iterator;
      m_iterator = m_program.object(std::move(made));
    }
    return m_iterator;
  }
  /// What a verb raises: a record, or a text with string methods.
  ObjectId error_record() {
    if (m_error == 0) {
      Object made;
      made.kind = Kind::record;
      made.name = "an error";
      for (const char* key : {"code", "message", "where", "byte", "find", "format", "gmatch",
                              "gsub", "len", "lower", "match", "rep", "reverse", "sub", "upper"}) {
        made.fields[key] = m_program.holding(0);
      }
      m_error = m_program.object(std::move(made));
    }
    return m_error;
  }

  Program& m_program;
  const std::map<std::string, std::string>& m_modules;
  std::map<std::string, ObjectId> m_library;
  ObjectId m_iterator = 0, m_error = 0;
  bool m_changed = false;
  std::size_t m_work = 0;
  Result<void> m_fault;
};

}  // namespace

Program::Program() : objects(1), flows(1) {}

Node Program::node() {
  flows.emplace_back();
  return static_cast<Node>(flows.size()) - 1;
}

ObjectId Program::object(Object made) {
  objects.push_back(std::move(made));
  return static_cast<ObjectId>(objects.size()) - 1;
}

Node Program::holding(ObjectId id) {
  const Node made = node();
  add(made, id);
  return made;
}

ObjectId Program::string_object(const std::string& text) {
  if (const auto known = m_strings.find(text); known != m_strings.end()) return known->second;
  Object made;
  made.kind = Kind::string;
  made.name = text;
  return m_strings[text] = object(std::move(made));
}

bool Program::add(Node node, ObjectId id) {
  std::vector<ObjectId>& held = flows[static_cast<std::size_t>(node)];
  const auto place = std::lower_bound(held.begin(), held.end(), id);
  if (place != held.end() && *place == id) return false;
  held.insert(place, id);
  return true;
}

Node Program::field(ObjectId table, const std::string& key) {
  const auto& fields = objects[static_cast<std::size_t>(table)].fields;
  if (const auto known = fields.find(key); known != fields.end()) return known->second;
  const Node made = node();
  return objects[static_cast<std::size_t>(table)].fields[key] = made;
}

Node Program::global(const std::string& name) {
  if (const auto known = m_globals.find(name); known != m_globals.end()) return known->second;
  ObjectId id = 0;
  if (contains(k_functions, name) || contains(k_libraries, name)) {
    Object made;
    made.kind = Kind::library;
    made.name = name;
    id = object(std::move(made));
  }
  return m_globals[name] = holding(id);
}

Result<void> propagate(Program& program, const std::map<std::string, std::string>& modules) {
  return Flow(program, modules).run();
}

}  // namespace wb::playbook::lua
