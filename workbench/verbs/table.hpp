// SPDX-License-Identifier: MIT
// The table of all verbs and its derived forms. Each function takes another table for tests.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "verbs/verb.hpp"

namespace wb::engine {
class Engine;
struct RunnableVerb;
}  // namespace wb::engine

namespace wb::verbs {

#define WB_VERB(name) const Verb& verb_##name();
#include "verbs/verb_list.inc"
#undef WB_VERB

using Table = std::span<const Verb* const>;

Table verb_table();
/// nullptr when there is none.
const Verb* find_verb(std::string_view name, Table table = verb_table());

/// In the form that an engine takes.
std::vector<engine::RunnableVerb> runnable(Table table = verb_table());
/// Sets the body of a verb that is implemented in a higher module.
void register_body(engine::Engine& engine, std::string_view verb, Body body);

/// The table as JSON, for bindings, docs and tools.
Json verb_table_json(Table table = verb_table());

/// An answer as text for standard output, ending with a newline. For `run` and `open` the last line
/// is the path of the session folder.
std::string text_of_answer(const Verb& verb, const Json& answer);
/// Exit code of a verb that ran: failed verdicts and invalid or stopped iterations are not 0.
ExitCode exit_code_of(const Verb& verb, const Json& answer);

}  // namespace wb::verbs
