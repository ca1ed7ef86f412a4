// SPDX-License-Identifier: MIT
// One verb whole. verbs/NAME.cpp defines `const Verb& verb_NAME()`, and a line of verb_list.inc
// puts it into the table (table.hpp): command line, Lua, Python, tools and pages follow from that.
#pragma once

#include <string>

#include "engine/call.hpp"
#include "verbs/exit_code.hpp"

namespace wb::verbs {

using engine::Call;
using engine::SessionNeed;
class FakeEngine;

struct Verb {
  engine::VerbSpec spec;
  /// Empty where the module playbook has it (register_playbook_verbs).
  engine::Body body = nullptr;
  /// An answer without a field `text` for people, ending with a newline; nullptr: it is shown as
  /// JSON.
  std::string (*text)(const Json& answer) = nullptr;
  /// What an answer means to a script; nullptr: the verb ran, and that is all.
  ExitCode (*exit_code)(const Json& answer) = nullptr;
  /// What the dry run of a playbook is answered (fake_engine.hpp). nullptr: a verb that needs no
  /// session answers as always, another one with nothing but a text.
  Result<Json> (*sample)(FakeEngine& fake, const Json& args) = nullptr;
};

}  // namespace wb::verbs
