// SPDX-License-Identifier: MIT
#include "playbook/static_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/json.hpp"
#include "playbook/lua_program.hpp"
#include "playbook/lua_reader.hpp"
#include "variant/variant.hpp"
#include "verbs/table.hpp"

namespace wb::playbook {
namespace {

using lua::Node;
using lua::Object;
using lua::ObjectId;
using lua::Program;
using lua::Step;
using Kind = Object::Kind;

std::string list_of(const std::map<std::string, Node>& fields) {
  std::vector<std::string> names;
  for (const auto& [name, node] : fields) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

class Check {
 public:
  Result<std::vector<std::string>> run(const PlaybookSource& source, const PlaybookMeta& meta) {
    const ObjectId wb = make_wb();
    WB_TRY_ASSIGN(const Node table,
                  read_source(m_program, source.text, fs::path(source.path).filename().string()));
    WB_TRY(propagate(m_program, source.lib));
    // The host's calls on the returned table.
    const Node run = m_program.node();
    Step load;
    load.kind = Step::Kind::load;
    load.a = table, load.c = run, load.key = "run";
    m_program.steps.push_back(load);
    Step call;
    call.kind = Step::Kind::call;
    call.a = run;
    call.inputs = {m_program.holding(wb), m_program.holding(make_arguments(meta))};
    call.block = -1;
    m_program.steps.push_back(call);
    WB_TRY(propagate(m_program, source.lib));
    if (give_wb_by_name(wb)) WB_TRY(propagate(m_program, source.lib));
    look_up_names();
    look_at_calls();
    std::vector<std::string> faults;
    for (const auto& [place, text] : m_faults) faults.push_back(text);
    return faults;
  }

 private:
  const Object& at(ObjectId id) const { return m_program.objects[static_cast<std::size_t>(id)]; }
  const std::vector<ObjectId>& in(Node node) const {
    return m_program.flows[static_cast<std::size_t>(node)];
  }
  void tell(int file, int line, const std::string& text) {
    const std::string& name = m_program.files[static_cast<std::size_t>(file)];
    m_faults.emplace(std::tuple(file, line, text), fmt::format("{}:{}: {}", name, line, text));
  }

  ObjectId make_record(const std::string& name, const std::vector<std::string>& fields) {
    Object record;
    record.kind = Kind::record;
    record.name = name;
    for (const std::string& field : fields) record.fields[field] = m_program.holding(0);
    return m_program.object(std::move(record));
  }

  ObjectId make_wb() {
    Object wb;
    wb.kind = Kind::wb;
    for (const verbs::Verb* one : verbs::verb_table()) {
      const verbs::VerbSpec& spec = one->spec;
      if (!spec.in_playbook) continue;
      std::vector<std::string> fields{"text"};
      for (const auto& [field, meaning] : spec.result) fields.emplace_back(field);
      Object verb;
      verb.kind = Kind::verb;
      verb.name = std::string(spec.name);
      verb.fields["answer"] = make_record("the answer of wb." + verb.name, fields);
      wb.fields[verb.name] = m_program.holding(m_program.object(verb));
    }
    return m_program.object(std::move(wb));
  }

  ObjectId make_arguments(const PlaybookMeta& meta) {
    std::vector<std::string> names;
    for (const auto& [name, spec] : meta.arguments.items()) names.push_back(name);
    return make_record("the playbook's arguments", names);
  }

  /// A function that is never called and has a parameter wb is assumed to get the table wb.
  bool give_wb_by_name(ObjectId wb) {
    bool given = false;
    for (std::size_t i = 0; i < m_program.objects.size(); ++i) {
      const Object object = m_program.objects[i];
      for (std::size_t p = 0; p < object.parameters.size(); ++p) {
        if (object.parameter_names[p] != "wb" || !in(object.parameters[p]).empty()) continue;
        given = m_program.add(object.parameters[p], wb) || given;
      }
    }
    return given;
  }

  /// True when the object may have a value under that key.
  bool may_have(const Object& object, const std::string& key) const {
    switch (object.kind) {
      case Kind::wb:
      case Kind::record:
        return object.fields.contains(key);
      case Kind::table: {
        const auto found = object.fields.find(key);
        return object.escaped || !in(object.any).empty() ||
               (found != object.fields.end() && !in(found->second).empty());
      }
      case Kind::verb:
      case Kind::function:
        return false;
      default:
        return true;
    }
  }

  void look_up_names() {
    for (const Step& step : m_program.steps) {
      if (step.kind != Step::Kind::load) continue;
      std::vector<std::string> keys{step.key};
      if (step.b != 0) {
        keys.clear();
        for (const ObjectId id : in(step.b)) {
          if (at(id).kind == Kind::string) keys.push_back(at(id).name);
        }
      }
      for (const std::string& key : keys) look_up(step, key);
    }
  }

  void look_up(const Step& step, const std::string& key) {
    const Object* known = nullptr;
    for (const ObjectId id : in(step.a)) {
      const Object& object = at(id);
      if (may_have(object, key)) return;
      if (object.kind == Kind::wb || (object.kind == Kind::record && known == nullptr)) {
        known = &object;
      }
    }
    if (known == nullptr) return;
    std::vector<std::string> names;
    for (const auto& [name, node] : known->fields) names.push_back(name);
    const std::string near = variant::did_you_mean(key, names);
    if (known->kind == Kind::wb) {
      tell(step.file, step.line,
           fmt::format("there is no verb wb.{}{}", printable(key, 60),
                       near.empty() ? "" : "; did you mean wb." + near + "?"));
      return;
    }
    tell(step.file, step.line,
         fmt::format("{} has no {}; {}", known->name, printable(key, 60),
                     !near.empty()           ? "did you mean " + near + "?"
                     : known->fields.empty() ? std::string("it has none")
                                             : "it has: " + list_of(known->fields)));
  }

  /// Why the verb refuses this argument, or empty.
  static std::string refusal(const std::string& verb, const std::string& key,
                             const std::optional<Json>& constant) {
    verbs::VerbSpec spec = verbs::find_verb(verb)->spec;
    for (verbs::ArgumentSpec& argument : spec.arguments) argument.is_required = false;
    const Json args{{key, constant ? *constant : Json(nullptr)}};
    const auto checked = verbs::check_arguments(spec, args);
    if (checked) return {};
    return fmt::format("wb.{}: {}; {}", verb, checked.error().cause, checked.error().next);
  }

  /// A call of a verb, also through pcall: the verb and its first argument.
  struct VerbCall {
    const Step* step;
    std::string verb;
    Node argument;
  };

  std::vector<VerbCall> verb_calls() {
    std::vector<VerbCall> calls;
    for (const Step& step : m_program.steps) {
      if (step.kind != Step::Kind::call) continue;
      for (const ObjectId id : in(step.a)) {
        const Object& called = at(id);
        if (called.kind == Kind::verb) {
          calls.push_back({&step, called.name, step.inputs.empty() ? 0 : step.inputs[0]});
          if (in(step.a).size() == 1 && step.written > 1) {
            tell(step.file, step.line,
                 fmt::format("wb.{0} takes one table of named arguments: wb.{0}{{name = value}}",
                             called.name));
          }
        }
        const std::size_t first = called.name == "pcall" ? 1 : called.name == "xpcall" ? 2 : 0;
        if (called.kind != Kind::library || first == 0 || step.inputs.empty()) continue;
        for (const ObjectId inner : in(step.inputs[0])) {
          if (at(inner).kind != Kind::verb) continue;
          calls.push_back(
              {&step, at(inner).name, first < step.inputs.size() ? step.inputs[first] : 0});
        }
      }
    }
    return calls;
  }

  void look_at_calls() {
    const std::vector<VerbCall> calls = verb_calls();
    std::map<ObjectId, std::set<std::string>> verbs_of;  // by constructor
    for (const VerbCall& call : calls) {
      for (const ObjectId id : in(call.argument)) {
        if (at(id).kind == Kind::table) verbs_of[id].insert(call.verb);
      }
    }
    for (const auto& [id, verbs] : verbs_of) look_at_entries(id, verbs);
    for (const VerbCall& call : calls) look_for_missing(call, verbs_of);
    for (const Step& step : m_program.steps) {
      if (step.kind == Step::Kind::store && step.b == 0) look_at_store(step, calls);
    }
  }

  /// True for a key that is removed again before the call.
  bool is_removed(ObjectId table, const std::string& key) const {
    return std::any_of(m_program.steps.begin(), m_program.steps.end(), [&](const Step& step) {
      return step.kind == Step::Kind::store && step.stores_nil &&
             (step.b != 0 || step.key == key) &&
             std::binary_search(in(step.a).begin(), in(step.a).end(), table);
    });
  }

  void look_at_entries(ObjectId id, const std::set<std::string>& verbs) {
    for (const auto& [key, entry] : at(id).entries) {
      std::string fault;
      for (const std::string& verb : verbs) {
        const std::string refused = refusal(verb, key, entry.constant);
        if (refused.empty()) {
          fault.clear();
          break;
        }
        if (fault.empty()) fault = refused;
      }
      if (!fault.empty() && !is_removed(id, key)) tell(at(id).file, entry.line, fault);
    }
  }

  void look_for_missing(const VerbCall& call,
                        const std::map<ObjectId, std::set<std::string>>& verbs_of) {
    const ObjectId id = call.step->direct_table;
    const auto found = verbs_of.find(id);
    if (id == 0 || found == verbs_of.end() || found->second.size() != 1) return;
    if (in(call.step->a).size() != 1 || !at(id).names_all) return;
    for (const verbs::ArgumentSpec& argument : verbs::find_verb(call.verb)->spec.arguments) {
      const std::string key(argument.name);
      if (!argument.is_required || at(id).entries.contains(key)) continue;
      tell(call.step->file, call.step->line,
           fmt::format("wb.{}: argument \"{}\" is missing", call.verb, key));
    }
  }

  /// Handles `t.key = …` before a call with t, in the same or an enclosing block.
  void look_at_store(const Step& store, const std::vector<VerbCall>& calls) {
    if (store.stores_nil) return;
    for (const VerbCall& call : calls) {
      if (call.step < &store || !is_around(store.block, call.step->block)) continue;
      for (const ObjectId id : in(store.a)) {
        const bool reaches = at(id).kind == Kind::table && in(store.a).size() == 1 &&
                             in(call.argument) == std::vector<ObjectId>{id};
        if (!reaches || is_removed(id, store.key)) continue;
        const std::string fault = refusal(call.verb, store.key, std::nullopt);
        if (!fault.empty()) tell(store.file, store.line, fault);
      }
    }
  }

  bool is_around(int outer, int inner) const {
    while (inner >= 0 && inner != outer) {
      inner = m_program.parent_of_block[static_cast<std::size_t>(inner)];
    }
    return inner == outer && inner >= 0;
  }

  Program m_program;
  std::map<std::tuple<int, int, std::string>, std::string> m_faults;
};

}  // namespace

Result<std::vector<std::string>> static_faults(const PlaybookSource& source,
                                               const PlaybookMeta& meta) {
  return Check().run(source, meta);
}

}  // namespace wb::playbook
