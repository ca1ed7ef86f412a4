// SPDX-License-Identifier: MIT
// Private to playbook: the data flow of a Lua source, to find faults in branches that no dry run
// takes. Order and conditions are ignored: a value that may flow somewhere does.
#pragma once

#include <map>
#include <optional>
#include <string>
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

/// Propagates all values until nothing changes. `modules`: the sources that `require` finds, read
/// on demand. Errors: parse; limit (too much work for a playbook).
Result<void> propagate(Program& program, const std::map<std::string, std::string>& modules);

}  // namespace wb::playbook::lua
