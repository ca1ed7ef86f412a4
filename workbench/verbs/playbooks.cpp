// SPDX-License-Identifier: MIT
// `playbooks`: lists the available playbooks. The body reads Lua and is in the module playbook.
#include "verbs/arguments.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

const Verb& verb_playbooks() {
  static const Verb verb{
      .spec = {.name = "playbooks",
               .doc = "the playbooks that can be found, Lua's and agents'",
               .arguments = {id_argument("name", "only this one; an agent's with its instructions")
                                 .positional()},
               .result = {{"playbooks",
                           "list: name, kind (lua or agent), about, arguments (lua: name to "
                           "default and doc), model and tools (agent), file, problem (why it "
                           "cannot be read, or null), instructions (of one agent)"},
                          {"text", "string: the same for people"}},
               .reads_only = true,
               .in_playbook = false,
               .drives = true}};
  return verb;
}

}  // namespace wb::verbs
