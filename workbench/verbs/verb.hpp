// SPDX-License-Identifier: MIT
// A complete verb. verbs/NAME.cpp defines `const Verb& verb_NAME()`, and a line of verb_list.inc
// puts it into the table (table.hpp), from which command line, Lua, Python, tools and pages are
// made.
#pragma once

#include <string>

#include "core/json_fwd.hpp"
#include "engine/verb.hpp"
#include "verbs/answer_forms.hpp"

namespace wb::verbs {

using engine::Call;
using engine::SessionNeed;
class FakeEngine;

struct Verb {
  engine::VerbSpec spec;
  /// Empty when the module playbook registers it (register_playbook_verbs).
  engine::Body body = nullptr;
  /// Renders an answer without a field `text` for people, ending with a newline; nullptr: shown as
  /// JSON.
  std::string (*text)(const Json& answer) = nullptr;
  /// The exit code of an answer; nullptr: always 0.
  ExitCode (*exit_code)(const Json& answer) = nullptr;
  /// The sample answer in a playbook's dry run (fake_engine.hpp). nullptr: a verb without a session
  /// runs normally; any other answers with an empty text.
  Result<Json> (*sample)(FakeEngine& fake, const Json& args) = nullptr;
};

}  // namespace wb::verbs
