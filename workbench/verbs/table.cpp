// SPDX-License-Identifier: MIT
#include "verbs/table.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "engine/engine.hpp"
#include "verbs/answer_forms.hpp"

namespace wb::verbs {
namespace {

std::string_view session_word(SessionNeed need) {
  switch (need) {
    case SessionNeed::none:
      return "none";
    case SessionNeed::creates:
      return "creates";
    case SessionNeed::reads:
      return "reads";
    case SessionNeed::writes:
      return "writes";
    case SessionNeed::optional:
      return "optional";
  }
  return "none";
}

Json argument_json(const ArgumentSpec& spec) {
  Json argument{{"name", spec.name},
                {"kind", to_string(spec.kind)},
                {"doc", spec.doc},
                {"required", spec.is_required}};
  if (spec.is_positional) argument["positional"] = true;
  if (!spec.unit.empty()) argument["unit"] = spec.unit;
  if (!spec.choices.empty()) argument["choices"] = spec.choices;
  if (spec.min != 0 || spec.max != 0) {
    argument["min"] = spec.min;
    argument["max"] = spec.max;
  }
  return argument;
}

/// Empty for an empty body.
engine::VerbBody engine_body(Body body) {
  if (!body) return {};
  return [body = std::move(body)](engine::Engine& engine, const Json& args, const fs::path& folder,
                                  bool in_playbook) {
    return body(Call{engine, engine.context(), engine.services(), args, folder, in_playbook});
  };
}

engine::RunnableVerb runnable_verb(const Verb& verb) {
  const VerbSpec& spec = verb.spec;
  engine::RunnableVerb made{
      .name = spec.name,
      .check = [&spec](const Json& args) { return check_arguments(spec, args); },
      .body = engine_body(verb.body),
      .only_logs = spec.only_logs,
      .reads_only = spec.reads_only,
      .in_playbook = spec.in_playbook};
  if (!spec.drives) {
    made.writes = spec.session == SessionNeed::writes;
    made.writes_if_named = spec.session == SessionNeed::optional;
    made.writes_if = spec.writes_if;
  }
  return made;
}

}  // namespace

Table verb_table() {
  static const std::vector<const Verb*> table{
#define WB_VERB(name) &verb_##name(),
#include "verbs/verb_list.inc"
#undef WB_VERB
  };
  return table;
}

const Verb* find_verb(std::string_view name, Table table) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Verb* verb) { return verb->spec.name == name; });
  return found == table.end() ? nullptr : *found;
}

std::vector<engine::RunnableVerb> runnable(Table table) {
  std::vector<engine::RunnableVerb> made;
  for (const Verb* verb : table) made.push_back(runnable_verb(*verb));
  return made;
}

void register_body(engine::Engine& engine, std::string_view verb, Body body) {
  engine.register_body(verb, engine_body(std::move(body)));
}

Json verb_table_json(Table table) {
  Json made = Json::array();
  for (const Verb* verb : table) {
    const VerbSpec& spec = verb->spec;
    Json arguments = Json::array();
    for (const ArgumentSpec& one : spec.arguments) arguments.push_back(argument_json(one));
    Json result = Json::object();
    for (const auto& [field, meaning] : spec.result) result[std::string(field)] = meaning;
    made.push_back({{"name", spec.name},
                    {"doc", spec.doc},
                    {"arguments", std::move(arguments)},
                    {"result", std::move(result)},
                    {"session", session_word(spec.session)},
                    {"long", spec.is_long},
                    {"reads_only", spec.reads_only},
                    {"destructive", spec.destructive},
                    {"in_playbook", spec.in_playbook}});
  }
  return made;
}

std::string text_of_answer(const Verb& verb, const Json& answer) {
  if (answer.contains("text")) {
    std::string text = answer["text"].get<std::string>();
    if (text.empty() || text.back() != '\n') text += '\n';
    return text;
  }
  return verb.text == nullptr ? json_text(answer, 2) + "\n" : verb.text(answer);
}

ExitCode exit_code_of(const Verb& verb, const Json& answer) {
  return verb.exit_code == nullptr ? ExitCode::ok : verb.exit_code(answer);
}

}  // namespace wb::verbs
