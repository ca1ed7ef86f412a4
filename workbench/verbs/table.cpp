// SPDX-License-Identifier: MIT
#include "verbs/table.hpp"

#include <algorithm>
#include <vector>

#include "core/json.hpp"
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

Json argument_json(const engine::ArgumentSpec& spec) {
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

engine::VerbTable runnable(Table table) {
  engine::VerbTable made;
  for (const Verb* verb : table) made.push_back({&verb->spec, verb->body});
  return made;
}

Json verb_table_json(Table table) {
  Json made = Json::array();
  for (const Verb* verb : table) {
    const engine::VerbSpec& spec = verb->spec;
    Json arguments = Json::array();
    for (const engine::ArgumentSpec& one : spec.arguments) arguments.push_back(argument_json(one));
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
